import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.inference import pixel_cache as module
from matcheval.inference.cache_manifest import CacheManifest, write_cache_and_manifest
from matcheval.inference.pixel_cache import open_pixels, remove_pixels, write_pixels
from matcheval.inference.readers import DecodingReader
from matcheval.models.geometry import Geometry
from photos import encoded_dataset, jpeg, photo, photos

GEOMETRY = Geometry("short", (40, 40), (36, 32), "bicubic")
SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"


@pytest.fixture(scope="module")
def dataset():
    return photos(150, edges=(30, 90))


@pytest.fixture(scope="module")
def folder(dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels") / "photos"
    write_dataset(dataset, folder)
    return folder


@pytest.fixture(scope="module")
def expected(dataset):
    return np.stack([np.asarray(GEOMETRY.apply(dataset.image(i))) for i in range(len(dataset))])


def read_all(reader, n, step):
    parts = []
    for start in range(0, n, step):
        stop = min(start + step, n)
        parts.append(np.empty((stop - start, *reader.shape), np.uint8))
        reader.read(start, stop, parts[-1])
    return np.concatenate(parts)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_cache_holds_the_transformed_images(dataset, folder, expected, tmp_path, n_workers):
    path = tmp_path / "p.npy"
    write_pixels(folder, GEOMETRY, path, n_workers=n_workers)
    assert np.array_equal(np.load(path), expected)
    cache = open_pixels(path, dataset.sha256, GEOMETRY)
    assert cache.shape == (36, 32, 3)
    for step in (7, 64, 150):
        assert np.array_equal(read_all(cache, 150, step), expected)
    remove_pixels(path)
    assert not any(tmp_path.iterdir())


def test_decoding_during_the_pass_gives_the_same_pixels(dataset, expected):
    assert np.array_equal(read_all(DecodingReader(dataset, GEOMETRY, 2), 150, 32), expected)


def test_damage_is_found_when_the_block_is_read(dataset, folder, tmp_path):
    path = tmp_path / "p.npy"
    write_pixels(folder, GEOMETRY, path)
    with path.open("r+b") as stream:
        stream.seek(-5, 2)
        byte = stream.read(1)
        stream.seek(-5, 2)
        stream.write(bytes([byte[0] ^ 1]))
    cache = open_pixels(path, dataset.sha256, GEOMETRY)
    out = np.empty((64, *cache.shape), np.uint8)
    cache.read(0, 64, out)
    with pytest.raises(InputError, match=r"p\.npy: images 128 to 149 are damaged\. Delete it"):
        cache.read(100, 150, out[:50])


def test_other_caches_are_refused(dataset, folder, tmp_path):
    path = tmp_path / "p.npy"
    with pytest.raises(InputError, match="no such pixel cache"):
        open_pixels(path, dataset.sha256, GEOMETRY)
    write_pixels(folder, GEOMETRY, path)
    with pytest.raises(InputError, match="it is stale"):
        open_pixels(path, "0" * 64, GEOMETRY)
    with pytest.raises(InputError, match="it is stale"):
        open_pixels(path, dataset.sha256, Geometry("short", (40, 40), (32, 32), "bicubic"))
    description = json.loads(path.with_suffix(".json").read_text())
    description["crc32"].pop()
    path.with_suffix(".json").write_text(json.dumps(description))
    with pytest.raises(InputError, match=r"p\.npy"):
        open_pixels(path, dataset.sha256, GEOMETRY)
    path.with_suffix(".json").write_text("{")
    with pytest.raises(InputError, match="not a readable pixel cache"):
        open_pixels(path, dataset.sha256, GEOMETRY)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="not a readable pixel cache"):
        open_pixels(path, dataset.sha256, GEOMETRY)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_truncated_images_are_named_and_nothing_is_left(tmp_path, n_workers):
    files = [jpeg(photo(60, 50, i)) for i in range(70)]
    files[66] = files[66][: len(files[66]) // 2]
    write_dataset(encoded_dataset(files, n_classes=3), tmp_path / "d")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"image 66 \(66\.jpg\) cannot be decoded"):
        write_pixels(tmp_path / "d", GEOMETRY, tmp_path / "p.npy", n_workers=n_workers)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_reported_before_anything_is_decoded(folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(module, "_fill_block", None)
    with pytest.raises(InputError, match=r"no room for 0\.0 GB of pixels.*inference\.pixel_cache"):
        write_pixels(folder, GEOMETRY, tmp_path / "p.npy")
    assert not any(tmp_path.iterdir())


def write(folder, tmp_path, *names, keep=False):
    waiting = tuple(str(tmp_path / name) for name in names)
    write_cache_and_manifest(
        folder, GEOMETRY, tmp_path / "p.npy", tmp_path / "t.json",
        waiting=waiting, keep=keep, n_workers=1,
    )  # fmt: skip
    return CacheManifest.read(tmp_path / "t.json")


def test_the_last_model_removes_the_cache(folder, tmp_path):
    (tmp_path / "a").write_text("outdated, to be replaced")
    os.utime(tmp_path / "a", (0, 0))
    manifest = write(folder, tmp_path, "a", "b")
    assert manifest.has_pixels
    for name in ("b", "a"):
        manifest.remove_unused_cache(tmp_path / "t.json")
        assert manifest.has_pixels
        time.sleep(0.01)
        (tmp_path / name).write_text("predictions")
    manifest.remove_unused_cache(tmp_path / "t.json")
    assert not manifest.has_pixels
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "t.json"]


def test_a_single_model_gets_no_cache_but_uses_an_existing_one(folder, tmp_path):
    assert write(folder, tmp_path, "a").pixels is None
    kept = write(folder, tmp_path, "a", "b", keep=True)
    stamp = (tmp_path / "p.npy").stat().st_mtime_ns
    for name in "ab":
        (tmp_path / name).write_text("predictions")
    kept.remove_unused_cache(tmp_path / "t.json")
    assert write(folder, tmp_path, "c").has_pixels
    write(folder, tmp_path, "c", "d")
    assert (tmp_path / "p.npy").stat().st_mtime_ns == stamp  # not written again
    (tmp_path / "p.json").write_text("damaged")
    write(folder, tmp_path, "c", "d")
    assert (tmp_path / "p.npy").stat().st_mtime_ns > stamp


def test_damaged_manifests_are_refused(tmp_path):
    (tmp_path / "t.json").write_text("[]")
    with pytest.raises(InputError, match="not a readable manifest"):
        CacheManifest.read(tmp_path / "t.json")
    with pytest.raises(InputError, match="no such manifest"):
        CacheManifest.read(tmp_path / "u.json")


def test_workers_import_no_torch():
    """They start in a fraction of a second, and several fit into little memory."""
    code = "import sys, matcheval.inference.pixel_cache; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SCRIPTS
    )
    assert done.stdout.strip() == "False"


def test_reading_a_cache_takes_no_memory_of_its_size(dataset, tmp_path):
    """Pages of the memory map are released: of a hundred megabytes read, few stay in memory."""
    code = f"""
import sys
import numpy as np
sys.path.insert(0, {str(SCRIPTS)!r})
from matcheval.inference.pixel_cache import BLOCK, PixelCache
import zlib
array = np.lib.format.open_memmap({str(tmp_path / "p.npy")!r}, mode="r")
crc = zlib.crc32(bytes(array[:BLOCK].nbytes))
cache = PixelCache(None, array, (crc,) * (len(array) // BLOCK))
out = np.empty((BLOCK, *cache.shape), np.uint8)
def peak():  # not ru_maxrss, which includes the memory of pytest
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
for start in range(0, len(array), BLOCK):
    cache.read(start, start + BLOCK, out)
print((peak() - before) / 1024)
"""
    np.save(tmp_path / "p.npy", np.zeros((1024, 180, 180, 3), np.uint8))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30
