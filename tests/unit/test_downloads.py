"""Downloads from a local server that fails on purpose, and that stands for the Hugging Face hub."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save

from helpers import run_python, simulate
from image_sets import npz
from matcheval.downloads import fetching
from matcheval.downloads.fetching import download
from matcheval.downloads.sources import Expected, check_format, published_files
from matcheval.errors import InputError
from matcheval.io.files import file_digest
from matcheval.predictions.records import write_predictions
from servers import serving

DATA = np.random.default_rng(0).bytes(3_000_000)
SHA256, MD5 = hashlib.sha256(DATA).hexdigest(), hashlib.md5(DATA).hexdigest()
PUBLISHED, UNKNOWN = Expected(SHA256), Expected()


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
def get(server, tmp_path, monkeypatch):
    """Download `data.bin`; waits are recorded and not waited for."""

    def get(expected=PUBLISHED, name="data.bin", urls=("data.bin",), attempts=5, **options):
        get.waits, path = [], tmp_path / name
        monkeypatch.setattr(fetching, "sleep", get.waits.append)
        monkeypatch.setattr(fetching, "ATTEMPTS", attempts)
        assert download([*map(server.url, urls)], path, expected, **options) == file_digest(path)
        return path.read_bytes()

    return get


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("expected", [Expected(SHA256, size=len(DATA)), Expected(md5=MD5)])
def test_a_file_is_downloaded_and_verified(get, server, tmp_path, caplog, expected):
    assert get(expected) == DATA
    assert "not verified" not in caplog.text
    assert left(tmp_path) == ["data.bin"]
    assert [request.sent for request in server.requests] == [len(DATA)]


def test_an_existing_file_is_verified_and_not_downloaded(get, server, tmp_path):
    (tmp_path / "data.bin").write_bytes(DATA)
    assert get() == DATA
    assert server.requests == []
    (tmp_path / "data.bin").write_bytes(DATA[:-1])
    with pytest.raises(InputError, match=f"data.bin: has sha256 .*, not {SHA256}. Delete it"):
        get()
    assert (tmp_path / "data.bin").read_bytes() == DATA[:-1]  # the user's file is not changed


N, WRONG = len(DATA), DATA[:-1] + b"x"
BUSY = [("status", 503), ("status", 429, {"Retry-After": "7"}), ("status", 500)]
YEARS_AGO = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}


@pytest.mark.parametrize(
    ("failures", "answers", "waits"),
    [
        # After progress, the waits do not grow.
        ([("cut", 2_000_000), ("cut", 500_000)],
         [(200, 2_000_000), (206, 500_000), (206, 500_000)], [1, 1]),
        ([("cut", 2_000_000), ("no ranges",)], [(200, 2_000_000), (200, N)], [1]),
        (BUSY, [(503, 0), (429, 0), (500, 0), (200, N)], [1, 7, 4]),
        ([("status", 503, YEARS_AGO)], [(503, 0), (200, N)], [1]),
        ([("bytes", WRONG)], [(200, N), (200, N)], []),
    ],
)  # fmt: skip
def test_a_server_that_fails_is_asked_again_for_what_is_missing(
    get, server, failures, answers, waits
):
    server.failures["data.bin"] = list(failures)
    assert get() == DATA
    assert [(request.status, request.sent) for request in server.requests] == answers
    assert get.waits == waits


def test_a_later_process_continues_a_download(get, server, tmp_path):
    server.failures["data.bin"] = [("cut", 2_000_000)]
    with pytest.raises(InputError, match=r"cut|broken|bytes"):
        get(attempts=1)
    assert left(tmp_path) == ["data.bin.part", "data.bin.part.json"]
    start = (tmp_path / "data.bin.part").stat().st_size
    assert start > 1_000_000
    get()
    last = server.requests[-1]
    assert (last.range, last.sent) == (f"bytes={start}-", len(DATA) - start)
    assert left(tmp_path) == ["data.bin"]


@pytest.mark.parametrize(
    ("etags", "older", "statuses"),
    [
        (True, DATA[::-1], [200, 200]),  # the server sends the new file from the start
        (False, DATA[::-1], [200, 206, 200]),  # the checksum differs
    ],
)
def test_versions_of_a_file_are_not_mixed(get, server, etags, older, statuses):
    server.etags = etags
    server.files["data.bin"] = older
    server.failures["data.bin"] = [("cut", 2_000_000)]
    with pytest.raises(InputError):
        get(attempts=1)
    server.files["data.bin"] = DATA
    assert get() == DATA
    assert [r.status for r in server.requests] == statuses
    assert server.requests[-1].sent == len(DATA)


def test_wrong_bytes_are_refused_and_errors_say_what_to_do_by_hand(get, server, tmp_path):
    server.files["data.bin"] = WRONG
    with pytest.raises(InputError, match=f"{hashlib.sha256(WRONG).hexdigest()}.*{SHA256}"):
        get()
    assert left(tmp_path) == []
    server.files.clear()
    server.requests.clear()
    with pytest.raises(InputError, match=rf"HTTP 404.*SHA-256 {SHA256}.*by hand"):
        get()
    assert len(server.requests) == 1  # a second request would not help


@pytest.mark.parametrize(
    ("expected", "first", "continued"),
    [
        (PUBLISHED, DATA, [True]),
        (UNKNOWN, DATA, [False]),  # no checksum can show that both have the same file
        (PUBLISHED, bytes(len(DATA)), [True, False]),  # another file, as the checksum shows
    ],
)
def test_another_address_continues_an_interrupted_download(get, server, expected, first, continued):
    server.files["first.bin"] = first
    server.failures["first.bin"] = [("cut", 2_000_000), ("status", 404)]
    assert get(expected, urls=["first.bin", "data.bin"]) == DATA
    asked = [request.range for request in server.requests if request.path == "data.bin"]
    assert asked == ["bytes=2000000-" if part else None for part in continued]


def test_a_folder_or_a_server_can_be_the_mirror(server, tmp_path):
    url, folder = "https://nowhere.invalid/a/b?download=1", tmp_path / "mirror"
    with pytest.raises(InputError, match=r"my data.bin: could not be downloaded .*no such file"):
        download(url, tmp_path / "my data.bin", PUBLISHED, mirror=str(folder))
    folder.mkdir()
    (folder / "my data.bin").write_bytes(DATA)
    assert download(url, tmp_path / "a" / "my data.bin", PUBLISHED, mirror=str(folder)) == SHA256
    assert server.requests == []
    path = tmp_path / "to" / "data.bin"
    assert download(url, path, PUBLISHED, mirror=f"{server.address}/") == SHA256
    assert len(server.requests) == 1


def test_the_second_waits_for_the_first(server, tmp_path):
    def get(_):
        return download(server.url("data.bin"), tmp_path / "data.bin", PUBLISHED)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(get, range(2))) == [SHA256] * 2
    assert len(server.requests) == 1


def test_a_full_disk_is_reported(get, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(InputError, match="is full: 3,000,000 bytes are needed, 1,000 are"):
        get()
    assert "data.bin.part" not in left(tmp_path)


def test_the_list_of_published_files_is_complete():
    files = published_files()
    unverified = [name for name, file in files.items() if not file.expected.has_checksum]
    assert unverified == ["cifar102_train.npz", "cifar10h-counts.npy", "cifar10_mturk.json"]
    assert all(url.startswith("https://") for file in files.values() for url in file.urls)


@pytest.mark.parametrize(
    ("failures", "options", "message", "n_requests"),
    [
        # The same bytes again are no progress.
        ([("cut", 1000), ("status", 206, {"Content-Range": f"bytes 5-9/{N}"})] * 100, {},
         "could not be downloaded", 5),
        ([], {"hours": 0}, "the time for this download is over", 1),
    ],
)  # fmt: skip
def test_downloads_end(get, server, failures, options, message, n_requests):
    server.failures["data.bin"] = list(failures)
    with pytest.raises(InputError, match=message):
        get(**options)
    assert len(server.requests) == n_requests


def test_versions_that_nobody_tells_apart_are_not_mixed(get, server):
    server.etags = False
    server.failures["data.bin"] = [("cut", 1000)]
    with pytest.raises(InputError, match="is not a complete"):
        get(UNKNOWN, name="data.npz")
    assert [request.range for request in server.requests] == [None] * 3


def test_a_larger_file_is_not_received(get, server):
    server.lengths = False
    with pytest.raises(InputError, match="has more than 1,000 bytes"):
        get(Expected(SHA256, size=1000))


FORMATS = {
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
        with pytest.raises(InputError, match=r"is (empty|a web page|not a complete)"):
            check_format(path, name)


COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def hub(tmp_path):
    with serving() as files:
        files.headers["X-Repo-Commit"] = COMMIT
        yield files


@pytest.fixture
def run(hub, tmp_path):
    """Run Python, of which huggingface_hub reads the address once, with a cache of its own."""

    def run(*arguments, **variables):
        place = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf")}
        return run_python(*arguments, cwd=tmp_path, **place, **variables)

    return run


def test_the_command_reads_predictions_of_the_hub(hub, run, tmp_path):
    for name, n in (("old", 90), ("new", 60)):
        write_predictions(simulate(n, 3, n), tmp_path / f"{name}.csv")
    texts = [(tmp_path / f"{name}.csv").read_bytes() for name in ("old", "new")]
    hub.files["datasets/user/sets/resolve/main/old.csv"] = texts[0]
    hub.files["user/model/resolve/v1/outputs/new.csv"] = texts[1]
    addresses = "hf://datasets/user/sets/old.csv", "hf://user/model@v1/outputs/new.csv"
    command = ["-m", "matcheval.cli", "compare", "--seeds", 1]
    local = run(*command, "old.csv", "new.csv")
    done = run(*command, *addresses)
    assert done.stderr == ""
    assert "old (original) against new" in done.stdout
    hub.requests.clear()
    assert run(*command, *addresses, HF_HUB_OFFLINE="1").stdout == local.stdout  # of the cache
    assert not hub.requests


MODEL = """
import sys, numpy as np, torch, matcheval as me
from pathlib import Path
from matcheval.models.loading import load_timm_model
from matcheval.models.published import describe_published
from matcheval.models.rows import ModelSource
images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
loader = [(images[:4], np.arange(4)), (images[4:], np.arange(4))]
print(me.evaluate("hf://user/net", loader, device="cpu")["logits"].tolist())
row = ModelSource.from_row("mine", "timm", {"source": "hf://user/net"})
found = describe_published([row], "descriptions")["mine"]
print(found.file_name, found.url, found.n_classes)
loaded = load_timm_model(row, Path(sys.argv[1]), None)
with torch.inference_mode():
    print(loaded.module.eval()(images).tolist(), loaded.transform.geometry)
"""


@pytest.mark.slow
def test_a_model_of_the_hub_in_three_lines(hub, run, tmp_path):
    import timm
    import torch
    from safetensors.torch import save

    torch.manual_seed(1)
    net, other = (timm.create_model("test_resnet", num_classes=4).eval() for _ in range(2))
    about = {"architecture": "test_resnet", "num_classes": 4, "pretrained_cfg": {}}
    hub.files["user/net/resolve/main/config.json"] = json.dumps(about).encode()
    hub.files["user/net/resolve/main/model.safetensors"] = save(net.state_dict())
    weights = tmp_path / "weights.safetensors"  # which the workflow has downloaded, earlier
    weights.write_bytes(save(other.state_dict()))
    done = run("-W", "ignore", "-c", MODEL, weights)
    assert not done.returncode, done.stderr
    logits, described, loaded = done.stdout.splitlines()
    images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for found, model in ((logits, net), (loaded.rpartition("]]")[0] + "]]", other)):
            torch.testing.assert_close(torch.tensor(json.loads(found)), model(images))
    url = f"{hub.address}/user/net/resolve/main/model.safetensors"
    assert described == f"hf_user_net.safetensors {url} 4"
