"""Corrupting images: time per image of all 29 corruptions, beside two packages.

    python benchmarks/corruptions.py

Packages, which are compared where they are installed: imagecorruptions 1.1.2 (needs setuptools
before 81) and corrupt-tta 0.1.7. Both have the parameters for 224 pixels only, so that all times
are with these, also at 32 pixels; a further time is with the parameters for 32. Processor time on
one core, the mean of the five severities; ratios are medians of alternating rounds.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OPENCV_FOR_THREADS_NUM="1")

import importlib
import importlib.util
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from common import processor_seconds, write_results

from matcheval.datasets.corruptions import EXTRA, SEVERITIES, STANDARD
from matcheval.datasets.corruptions.applying import CORRUPTIONS, corrupt
from photos import photo

BATCH = {32: 100, 224: 5}  # images at a time
ROUNDS = 5
FROST = {"imagecorruptions": "frost", "corrupt_tta": "assets/frost"}  # their photographs
Pixels = np.ndarray


def images(side: int, n: int) -> Pixels:
    """Photographs that are drawn, cut to a size."""
    return np.stack([np.asarray(photo(side, side, i)) for i in range(n)])


def photographs() -> Path | None:
    """The photographs of frost in an installed package, if there is one."""
    for package, folder in FROST.items():
        if found := importlib.util.find_spec(package):
            return Path(str(found.origin)).parent / folder
    return None


def packages() -> dict[str, Callable[[Pixels, str, int], object]]:
    """The installed packages, as functions of an image, a corruption and a severity."""
    found: dict[str, Callable[[Pixels, str, int], object]] = {}
    for name in FROST:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed: not compared")
            continue
        module = importlib.import_module(name)
        importlib.import_module("cv2").setNumThreads(1)
        found[name] = lambda image, corruption, severity, m=module: m.corrupt(
            image, corruption_name=corruption, severity=severity
        )
    return found


def ours(batch: Pixels, name: str, size: int, textures: Path | None) -> None:
    """Corrupt images in all severities."""
    for severity in SEVERITIES:
        corrupt(batch, name, severity, range(len(batch)), size=size, textures=textures)


def theirs(batch: Pixels, name: str, package: Callable[[Pixels, str, int], object]) -> None:
    """Corrupt images one by one in all severities."""
    for severity in SEVERITIES:
        for image in batch:
            package(image, name, severity)


def failure(package: Callable[[Pixels, str, int], object], image: Pixels, name: str) -> str:
    """Why a package cannot corrupt an image; empty if it can."""
    try:
        package(image, name, 3)
    except Exception as error:  # whatever it is, it is what this benchmark reports
        return f"fails: {type(error).__name__}"
    return ""


def measure(name: str, side: int, textures: Path | None, known: dict) -> dict[str, object]:
    """One row: times of our own, and ratios."""
    batch = images(side, BATCH[side])
    per_image = 1e3 / (len(batch) * len(SEVERITIES))
    compared = known if name in STANDARD + EXTRA else {}
    fails = {package: failure(f, batch[0], name) for package, f in compared.items()}
    ours(batch[:1], name, 224, textures)  # compiled by now
    own, small, ratios = [], [], {package: [] for package in compared if not fails[package]}
    for _ in range(ROUNDS):
        own.append(processor_seconds(lambda: ours(batch, name, 224, textures)))
        small.append(processor_seconds(lambda: ours(batch, name, side, textures)))
        for package, found in ratios.items():
            found.append(
                processor_seconds(lambda p=package: theirs(batch, name, known[p])) / own[-1]
            )
    told = {p: round(statistics.median(found), 2) for p, found in ratios.items()}
    return {
        "corruption": name,
        "family": CORRUPTIONS[name].family,
        "side": side,
        "ms_per_image": round(per_image * statistics.median(own), 3),
        "ms_with_own_parameters": round(per_image * statistics.median(small), 3),
        **{p: told.get(p, fails.get(p, "")) for p in FROST},
    }


def summary(rows: list[dict[str, object]], side: int) -> Iterator[dict[str, object]]:
    """Geometric means, and least values, of the ratios at a size."""
    for label, summarise in (("geometric mean", statistics.geometric_mean), ("least", min)):
        row: dict[str, object] = dict.fromkeys(rows[0], "") | {"corruption": label, "side": side}
        for package in FROST:
            found = [
                row[package]
                for row in rows
                if row["side"] == side and isinstance(row[package], float)
            ]
            row[package] = round(summarise(found), 2) if found else ""
        yield row


def times() -> None:
    """Measure and store times."""
    textures, known, rows = photographs(), packages(), []
    for side in BATCH:
        for name in CORRUPTIONS:
            if name == "frost" and textures is None:
                print("frost is left out: its photographs are in the packages")
                continue
            rows.append(measure(name, side, textures, known))
            print(*rows[-1].values(), flush=True)
    rows += [row for side in BATCH for row in summary(rows, side)]
    versions = ["numpy", "scipy", "numba", "pillow"]
    if known:
        versions += [*(name.replace("_", "-") for name in known), "opencv-python", "scikit-image"]
    write_results("corruptions", rows, *versions)


if __name__ == "__main__":
    times()
