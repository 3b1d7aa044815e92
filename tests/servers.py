"""A local HTTP server of files that fails on purpose."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    """A request, and how it was answered."""

    path: str
    range: str | None
    status: int = 0
    sent: int = 0


@dataclass
class FileServer:
    """Files by name, and failures of the next requests for each.

    A failure is `("cut", n)`: the connection ends after n bytes; `("status", code, headers)`: an
    error; `("no ranges",)`: the complete file, whatever the requested range; `("bytes", data)`:
    these bytes instead.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    failures: dict[str, list] = field(default_factory=lambda: defaultdict(list))
    requests: list[Request] = field(default_factory=list)
    etags: bool = True
    lengths: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Serve one request."""
        name = handler.path.lstrip("/").split("?")[0]
        request = Request(name, handler.headers.get("Range"))
        self.requests.append(request)
        failure = self.failures[name].pop(0) if self.failures[name] else (None,)
        if failure[0] == "status" or name not in self.files:
            request.status = failure[1] if failure[0] == "status" else 404
            handler.send_response(request.status)
            for header in (failure[2] if len(failure) > 2 else {}).items():
                handler.send_header(*header)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        content = failure[1] if failure[0] == "bytes" else self.files[name]
        self._send(handler, request, content, failure)

    def _send(self, handler, request, content, failure) -> None:
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        start = 0
        condition = handler.headers.get("If-Range")
        if request.range and failure[0] != "no ranges" and condition in (None, etag):
            start = int(request.range.removeprefix("bytes=").rstrip("-"))
        request.status = 206 if start else 200
        if start >= len(content):
            request.status = 416
        handler.send_response(request.status)
        if request.status == 206:
            last = len(content) - 1
            handler.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        body = content[start:] if request.status != 416 else b""
        for header in self.headers.items():
            handler.send_header(*header)
        if self.etags:
            handler.send_header("ETag", etag)
        if self.lengths:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        part = body[: failure[1]] if failure[0] == "cut" else body
        part = b"" if handler.command == "HEAD" else part
        request.sent = len(part)
        handler.wfile.write(part)


@contextmanager
def serving() -> Iterator[FileServer]:
    """A server on a free port of this machine."""
    files = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            files.answer(self)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *arguments):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    files.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
