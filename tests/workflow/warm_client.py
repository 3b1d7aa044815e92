"""The command that `warm.py` makes: has its server run something, and ends as that ended."""

import marshal
import os
import signal
import socket
import sys

address, *argv = sys.argv[1:]
# `pathlib` would take longer to import than all else here.
request = {"argv": argv, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
text = marshal.dumps(request)
with socket.socket(socket.AF_UNIX) as server:
    server.connect(address)
    socket.send_fds(server, [len(text).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(text)
    status = server.recv(4)
if not status:
    sys.exit("the server of the tests' Python has died")
code = int.from_bytes(status, "big", signed=True)
if code < 0:
    if code != -signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
