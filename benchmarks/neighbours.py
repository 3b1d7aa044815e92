"""Exact 10-nearest-neighbour search of 10,000 CIFAR images in 50,000, and SSIM of the pairs found.

    python benchmarks/neighbours.py --train train.npy --test test.npy    # uint8, n × 32 × 32 × 3

Without files, images of the same number and size are drawn at random: the search does the same
work on any pixels.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from common import peak_mib, write_results

from matcheval.analyses.near_duplicates.search import nearest_neighbours, structural_similarity

K = 10


def images(path: Path | None, n: int) -> np.ndarray:
    """Images from a file, or random ones."""
    if path is not None:
        return np.load(path, mmap_mode="r")
    return np.random.default_rng(n).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)


def check(test: np.ndarray, train: np.ndarray, index: np.ndarray, squared: np.ndarray) -> None:
    """Compare some queries with whole-number arithmetic."""
    flat = train.reshape(len(train), -1)
    for i in range(0, len(test), len(test) // 5):
        exact = np.zeros(len(train), np.int64)
        for start in range(0, len(train), 5000):
            part = flat[start : start + 5000].astype(np.int32) - test[i].reshape(-1)
            exact[start : start + 5000] = (part * part).sum(axis=1, dtype=np.int64)
        order = np.argsort(exact, kind="stable")[:K]
        assert (index[i] == order).all()
        assert (squared[i] == exact[order]).all()


def main() -> None:
    """Time the search, then the re-ranking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path)
    arguments = parser.parse_args()
    train, test = images(arguments.train, 50_000), images(arguments.test, 10_000)
    nearest_neighbours(test[:10], train[:100], K)  # compiles
    start = time.perf_counter()
    found = nearest_neighbours(test, train, K)
    search = time.perf_counter() - start
    start = time.perf_counter()
    structural_similarity(test, train, found.index)
    similarity = time.perf_counter() - start
    peak = peak_mib() / 1024
    check(test, train, found.index, found.squared)
    row = {
        "images": "given" if arguments.train else "random",
        "queries": len(test),
        "references": len(train),
        "k": K,
        "search_seconds": round(search, 1),
        "ssim_seconds": round(similarity, 1),
        "peak_gib": round(peak, 2),
    }
    write_results("neighbours", [row], "numpy")


if __name__ == "__main__":
    main()
