"""Search for near duplicates among as many hashes as CIFAR-10-Warehouse has images, and decoding.

    python benchmarks/hash_search.py [--n 600000] [--images FOLDER]

Hashes of photographs are not uniform: here they are made of a few thousand centres, each with
copies at distances up to 16 bits, so that some buckets of the search are large. On a sample, the
search is compared with all pairs. With `--images`, decoding and hashing is timed on a folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from common import peak_mib, write_results

from matcheval.warehouse.duplicates import similar_pairs
from matcheval.warehouse.images import read_image
from matcheval.warehouse.sets import ImageFile, ImageMetadata
from matcheval.warehouse.settings import DecodingSettings

DISTANCE = 4


def clustered(n: int, seed: int = 0) -> np.ndarray:
    """Distinct hashes in clusters: centres with up to 16 flipped bits."""
    random = np.random.default_rng(seed)
    centres = random.integers(0, 2**64, max(2, n // 200), dtype=np.uint64)
    found = centres[random.integers(0, len(centres), n)]
    for _ in range(16):
        flips = np.uint64(1) << random.integers(0, 64, n).astype(np.uint64)
        found = np.where(random.random(n) < 0.5, found ^ flips, found)
    return np.unique(found)


def all_pairs(hashes: np.ndarray) -> int:
    """Number of pairs within the distance, by comparing all."""
    return sum(
        int((np.bitwise_count(hashes[i + 1 :] ^ hashes[i]) <= DISTANCE).sum())
        for i in range(len(hashes))
    )


def timed_search(name: str, hashes: np.ndarray) -> dict[str, object]:
    """Search, and tell what it took."""
    start, worked = time.perf_counter(), time.process_time()
    pairs = len(similar_pairs(hashes, DISTANCE))
    return {"what": name, "n": len(hashes), "pairs": pairs, **spent(start, worked)}


def spent(start: float, worked: float) -> dict[str, object]:
    """Wall and processor seconds since then, and memory."""
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - worked, 1),
        "MiB": peak_mib(),
    }


def decoding(folder: Path) -> dict[str, object]:
    """Decode and hash images and name their colours, by one process."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())[:1000]
    settings = DecodingSettings()
    start, worked = time.perf_counter(), time.process_time()
    for file in files:
        read_image("set", settings, ImageFile(file, file.name, "class", ImageMetadata()))
    return {"what": "decoding", "n": len(files), "pairs": "", **spent(start, worked)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=600_000)
    parser.add_argument("--images", type=Path)
    arguments = parser.parse_args()
    sample = clustered(10_000, seed=1)
    assert len(similar_pairs(sample, DISTANCE)) == all_pairs(sample)
    uniform = np.random.default_rng(0).integers(0, 2**64, arguments.n, dtype=np.uint64)
    rows = [
        timed_search("uniform hashes", np.unique(uniform)),
        timed_search("clustered hashes", clustered(arguments.n)),
    ]
    if arguments.images:
        rows.append(decoding(arguments.images))
    write_results("hash_search", rows, "numpy", "pillow")


if __name__ == "__main__":
    main()
