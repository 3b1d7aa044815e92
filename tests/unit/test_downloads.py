"""The downloader with a local server that fails on purpose."""

import errno
import hashlib
import importlib.util
import multiprocessing
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save

from image_sets import npy, npz
from matcheval.downloads.fetching import _length, download
from matcheval.downloads.sources import SOURCES, published_file, published_files
from matcheval.downloads.verification import check_format, file_digests
from matcheval.errors import InputError
from servers import serving

DATA = np.random.default_rng(0).bytes(3_000_000)
SHA256, MD5 = hashlib.sha256(DATA).hexdigest(), hashlib.md5(DATA).hexdigest()


@pytest.fixture(scope="module")
def running():
    with serving() as files:
        yield files


@pytest.fixture
def server(running):
    running.files = {"data.bin": DATA}
    running.failures.clear()
    running.requests.clear()
    running.etags = running.lengths = True
    return running


@pytest.fixture
def get(server, tmp_path):
    """Download `data.bin`; waits are recorded and not waited for."""

    def get(name="data.bin", **options):
        get.waits = []
        options = {"sha256": SHA256, "sleep": get.waits.append} | options
        path = tmp_path / name
        assert download(server.url("data.bin"), path, **options) == file_digests(path)["sha256"]
        return path

    return get


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("checksum", [{"sha256": SHA256}, {"sha256": None, "md5": MD5}])
def test_a_file_is_downloaded_and_verified(get, server, tmp_path, caplog, checksum):
    assert get(size=len(DATA), **checksum).read_bytes() == DATA
    assert "not verified" not in caplog.text
    assert left(tmp_path) == ["data.bin"]
    assert [request.sent for request in server.requests] == [len(DATA)]


def test_an_existing_file_is_verified_and_not_downloaded(get, server, tmp_path):
    (tmp_path / "data.bin").write_bytes(DATA)
    assert get().read_bytes() == DATA
    assert server.requests == []
    (tmp_path / "data.bin").write_bytes(DATA[:-1])
    with pytest.raises(InputError, match=f"data.bin: has sha256 .*, not {SHA256}. Delete it"):
        get()
    assert (tmp_path / "data.bin").read_bytes() == DATA[:-1]  # the user's file is not changed


@pytest.mark.parametrize("etags", [True, False])
def test_an_interrupted_download_is_continued(get, server, etags):
    server.etags = etags
    server.failures["data.bin"] = [("cut", 2_000_000), ("cut", 500_000)]
    assert get().read_bytes() == DATA
    asked = [request.range for request in server.requests]
    starts = [int(re.findall(r"\d+", text)[0]) for text in asked[1:]]
    assert asked[0] is None
    assert 0 < starts[0] <= 2_000_000 < starts[0] + 500_001
    assert [r.sent for r in server.requests][1:] == [500_000, len(DATA) - starts[1]]
    assert get.waits == [1, 1]  # after progress, the waits do not grow


def test_a_later_process_continues_a_download(get, server, tmp_path):
    server.failures["data.bin"] = [("cut", 2_000_000)]
    with pytest.raises(InputError, match=r"cut|broken|bytes"):
        get(attempts=1)
    assert left(tmp_path) == ["data.bin.part", "data.bin.part.json"]
    start = (tmp_path / "data.bin.part").stat().st_size
    assert start > 1_000_000
    get()
    assert server.requests[-1].range == f"bytes={start}-"
    assert server.requests[-1].sent == len(DATA) - start
    assert left(tmp_path) == ["data.bin"]


def test_a_server_without_ranges_starts_again(get, server):
    server.failures["data.bin"] = [("cut", 2_000_000), ("no ranges",)]
    assert get().read_bytes() == DATA
    assert [r.status for r in server.requests] == [200, 200]
    assert server.requests[1].sent == len(DATA)


@pytest.mark.parametrize("etags", [True, False])
def test_versions_of_a_file_are_not_mixed(get, server, etags):
    """With tags, the server sends the new file from the start; without, the checksum differs."""
    server.etags = etags
    older = DATA[::-1]
    server.failures["data.bin"] = [("bytes", older)]
    server.files["data.bin"] = older
    server.failures["data.bin"] = [("cut", 2_000_000)]
    with pytest.raises(InputError):
        get(attempts=1)
    server.files["data.bin"] = DATA
    assert get().read_bytes() == DATA
    assert server.requests[-1].sent == len(DATA)


def test_a_changed_length_is_detected_without_tags(get, server):
    server.etags = False
    server.files["data.bin"] = DATA + b"more"
    server.failures["data.bin"] = [("cut", 2_000_000)]
    with pytest.raises(InputError):
        get(attempts=1)
    server.files["data.bin"] = DATA
    assert get().read_bytes() == DATA
    assert [r.status for r in server.requests] == [200, 206, 200]


def test_wrong_bytes_are_refused(get, server, tmp_path):
    server.files["data.bin"] = wrong = DATA[:-1] + b"x"
    with pytest.raises(InputError) as caught:
        get()
    for part in (hashlib.sha256(wrong).hexdigest(), SHA256, server.url("data.bin"),
                 str(tmp_path / "data.bin")):  # fmt: skip
        assert part in str(caught.value)
    assert left(tmp_path) == []


def test_another_address_is_tried_if_the_first_has_another_file(server, tmp_path):
    """Repositories that have moved respond with a web page."""
    server.files["old"], server.files["new"] = b"<html>we have moved</html>", DATA
    urls = [server.url("old"), server.url("new")]
    assert download(urls, tmp_path / "data.bin", sha256=SHA256) == SHA256
    assert left(tmp_path) == ["data.bin"]


def test_damaged_bytes_are_downloaded_once_more(get, server):
    server.failures["data.bin"] = [("bytes", DATA[:-1] + b"x")]
    assert get().read_bytes() == DATA


def test_waits_for_busy_servers_grow(get, server):
    server.failures["data.bin"] = [
        ("status", 503), ("status", 429, {"Retry-After": "7"}), ("status", 500),
    ]  # fmt: skip
    assert get().read_bytes() == DATA
    assert get.waits == [1, 7, 4]


def test_the_error_of_a_missing_file_says_what_to_do_by_hand(get, server, tmp_path):
    server.files.clear()
    with pytest.raises(InputError) as caught:
        get()
    assert len(server.requests) == 1  # a second request would not help
    for part in ("data.bin", "HTTP 404", SHA256, f"put the file at {tmp_path}/data.bin by hand",
                 "'mirror'"):  # fmt: skip
        assert part in str(caught.value)


def test_the_error_without_a_network_says_what_to_do_by_hand(tmp_path):
    waits = []
    with pytest.raises(InputError) as caught:
        download(
            "http://127.0.0.1:1/data.bin", tmp_path / "data.bin", md5=MD5, sleep=waits.append
        )  # fmt: skip
    assert waits == [1, 2, 4, 8]
    for part in ("http://127.0.0.1:1/data.bin", "refused", f"MD5 {MD5}", "by hand"):
        assert part in str(caught.value)


def test_further_addresses_are_tried(server, tmp_path):
    urls = [server.url("gone"), server.url("data.bin")]
    assert download(urls, tmp_path / "data.bin", sha256=SHA256) == SHA256


@pytest.mark.parametrize(("checksum", "again"), [(SHA256, 1), (None, 0)])
def test_another_address_continues_an_interrupted_download(server, tmp_path, checksum, again):
    """Only if a checksum can show that both have the same file; otherwise it starts again."""
    server.files["copy.bin"] = DATA
    server.failures["data.bin"] = [("cut", 2_000_000), ("status", 404)]
    urls = [server.url("data.bin"), server.url("copy.bin")]
    download(urls, tmp_path / "data.bin", sha256=checksum, sleep=lambda _: None)
    assert (tmp_path / "data.bin").read_bytes() == DATA
    last = server.requests[-1]
    assert (last.path, last.range) == ("copy.bin", f"bytes={2_000_000}-" if again else None)


def test_a_part_of_another_file_is_discarded(server, tmp_path):
    """The first address has another file of the same length, which the checksum shows."""
    server.files |= {"other.bin": bytes(len(DATA)), "copy.bin": DATA}
    server.failures["other.bin"] = [("cut", 2_000_000), ("status", 404)]
    urls = [server.url("other.bin"), server.url("copy.bin")]
    assert download(urls, tmp_path / "data.bin", sha256=SHA256, sleep=lambda _: None) == SHA256
    assert [request.range is not None for request in server.requests[2:]] == [True, False]


def test_without_a_checksum_a_warning_is_logged(get, caplog):
    for _ in ("downloaded", "found"):
        get(sha256=None)
        assert "data.bin: no checksum is published; the file is not verified" in caplog.text
        caplog.clear()


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_folder_can_be_the_mirror(server, tmp_path, form):
    (tmp_path / "mirror").mkdir()
    mirror = form.format(tmp_path / "mirror")
    url, path = "https://nowhere.invalid/a/b?download=1", tmp_path / "to" / "my data.bin"
    with pytest.raises(
        InputError, match=r"my data.bin: could not be downloaded from .*no such file"
    ):
        download(url, path, sha256=SHA256, mirror=mirror)
    (tmp_path / "mirror" / "my data.bin").write_bytes(DATA)
    assert download(url, path, sha256=SHA256, mirror=mirror) == SHA256
    assert server.requests == []


def test_a_server_can_be_the_mirror(server, tmp_path):
    url, path = "https://nowhere.invalid/a/b?download=1", tmp_path / "data.bin"
    assert download(url, path, sha256=SHA256, mirror=f"{server.address}/") == SHA256


def _in_a_process(url, path):
    download(url, path, sha256=SHA256)


def test_two_processes_download_a_file_once(server, tmp_path):
    context = multiprocessing.get_context("spawn")
    arguments = (server.url("data.bin"), tmp_path / "data.bin")
    processes = [context.Process(target=_in_a_process, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(server.requests) == 1
    assert left(tmp_path) == ["data.bin"]


def test_the_second_waits_for_the_first(server, tmp_path):
    release, done = threading.Event(), []
    server.failures["data.bin"] = [("status", 503)]

    def get(sleep):
        path = tmp_path / "data.bin"
        done.append(download(server.url("data.bin"), path, sha256=SHA256, sleep=sleep))

    first = threading.Thread(target=get, args=(lambda seconds: release.wait(),))
    first.start()
    while not server.requests:
        pass
    second = threading.Thread(target=get, args=(None,))
    second.start()
    second.join(0.3)
    assert second.is_alive()
    assert done == []
    release.set()
    first.join()
    second.join()
    assert len(done) == 2
    assert len(server.requests) == 2


def test_too_small_a_disk_is_reported_before_anything_is_written(get, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: os.terminal_size((0, 0)) and _Usage)
    with pytest.raises(InputError, match="the disk is full: 3,000,000 bytes are needed, 1,000 are"):
        get()
    assert "data.bin" not in left(tmp_path)


class _Usage:
    free = 1000


def test_a_disk_that_fills_up_is_reported_and_the_partial_file_kept(get, tmp_path, monkeypatch):
    real = Path.open

    def limited(path, mode="r", *arguments, **options):
        file = real(path, mode, *arguments, **options)
        if path.suffix != ".part" or mode == "rb":
            return file
        write = file.write

        class Full:
            def __getattr__(self, name):
                return getattr(file, name)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                file.close()

            def write(self, data):
                if file.tell() + len(data) > 2_000_000:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return write(data)

        return Full()

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", limited)
        with pytest.raises(InputError, match="the disk is full: No space left on device"):
            get()
    kept = (tmp_path / "data.bin.part").stat().st_size
    assert 0 < kept <= 2_000_000
    assert get().read_bytes() == DATA


def test_the_list_of_published_files_is_complete():
    files = published_files()
    assert len(files) == 13
    unverified = [name for name, file in files.items() if not file.expected.has_checksum]
    assert unverified == ["cifar102_train.npz"]
    for file in files.values():
        assert all(url.startswith("https://") for url in file.urls)
    text = SOURCES.read_text()
    assert text.count("checked:") == len(files)


def test_known_checksums_are_those_of_installed_libraries():
    """Those of torchvision, read as text because its import takes seconds."""
    package = Path(importlib.util.find_spec("torchvision").origin).parent
    text = (package / "datasets" / "cifar.py").read_text()
    file = published_file("cifar-10-python.tar.gz")
    assert f'tgz_md5 = "{file.expected.md5}"' in text
    assert f'url = "{file.urls[0]}"' in text


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"urls": []}, "'f': has no urls"),
        ({"urls": ["u"], "md5": "12"}, "'f': '12' is not a valid md5"),
    ],
)
def test_a_list_of_files_is_checked(tmp_path, entry, problem):
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump({"set": {"files": {"f": entry}}}))
    with pytest.raises(InputError, match=re.escape(problem)):
        published_files(path)


def test_digests_are_those_of_hashlib(tmp_path):
    (tmp_path / "f").write_bytes(DATA)
    assert file_digests(tmp_path / "f", with_md5=True) == {"sha256": SHA256, "md5": MD5}


class TestDownloadsThatEnd:
    def test_a_server_that_answers_ranges_wrongly(self, get, server):
        """The same bytes again are no progress."""
        wrong = {"Content-Range": f"bytes 5-9/{len(DATA)}"}
        server.failures["data.bin"] = [("cut", 1000), ("status", 206, wrong)] * 100
        with pytest.raises(InputError, match="could not be downloaded"):
            get(attempts=5)
        assert len(server.requests) == 5

    def test_the_time_is_over(self, get, server):
        with pytest.raises(InputError, match="the time for this download is over"):
            get(hours=0)
        server.requests.clear()
        server.failures["data.bin"] = [("status", 503)] * 9
        with pytest.raises(InputError, match="HTTP 503"):  # no wait beyond the end
            get(hours=3 / 3600)
        assert get.waits == [1, 2]

    def test_too_slow_a_server(self, get, server, monkeypatch):
        monkeypatch.setattr("matcheval.downloads.fetching._RATE_WINDOW_S", 0.0)
        with pytest.raises(InputError, match=r"it sent [\d,]+ bytes in 0 s"):
            get(least_rate=1e15)
        assert get.waits == [1, 2, 4, 8]

    @pytest.mark.parametrize("headers", [True, False])
    def test_a_larger_file_is_not_received(self, get, server, headers):
        server.lengths = headers
        with pytest.raises(InputError, match=r"has (more than 1,000|3,000,000) bytes"):
            get(size=1000)

    def test_versions_that_nobody_tells_apart_are_not_mixed(self, get, server):
        server.etags = False
        server.failures["data.bin"] = [("cut", 1000)]
        with pytest.raises(InputError, match="is no complete"):
            get(sha256=None, name="data.npz")
        assert [request.range for request in server.requests] == [None] * 3

    @pytest.mark.parametrize(
        ("status", "headers", "waits"),
        [
            (503, {"Retry-After": "²"}, [1]),
            (503, {"Retry-After": "7"}, [7]),
            (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, [1]),
            (429, {"Retry-After": "soon"}, [1]),
        ],
    )
    def test_requested_waits(self, get, server, status, headers, waits):
        server.failures["data.bin"] = [("status", status, headers)]
        get()
        assert get.waits == waits


@pytest.mark.parametrize(
    ("text", "length"),
    [("5", 5), ("102400, 102400", 102400), ("5, 6", -1), ("many", -1), ("²", -1), ("", -1)],
)
def test_lengths_that_servers_tell(text, length):
    assert _length(text) == length


FORMATS = {
    "a.npy": npy(np.arange(9)),
    "a.npz": npz(a=np.arange(9)),
    "a.safetensors": save({"w": np.zeros(2)}),
    "a.pth": b"\x80",
}


@pytest.mark.parametrize("name", FORMATS)
def test_only_whole_files_of_the_right_format_pass_without_checksum(tmp_path, name):
    path = tmp_path / "part"
    path.write_bytes(FORMATS[name])
    check_format(path, name)
    others = [b"", b"\n<!DOCTYPE html><html>"]
    if name != "a.pth":
        others += [FORMATS[name][:-1], b"x" * 600]
    for content in others:
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is (empty|a web page|no complete)"):
            check_format(path, name)
