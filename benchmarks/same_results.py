"""Whether two results folders hold the same results to the bit: of this checkout and of another.

    .venv/bin/python benchmarks/same_results.py ../before/results results [study ...]

Compared are tables (values and types of every column, the bits of floats), checkpoints and features
(all tensors), arrays, figures (their pixels, or their bytes if they are drawings) and texts. What
says how a file was made is not: metadata, logs, times, reports. With names of studies, the
folders of other studies are left out. Files that only one of the folders has are differences, too.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from common import ROOT
from PIL import Image
from safetensors.numpy import load_file

assert ROOT  # `common` puts the library on the path
SHARED = {"datasets", "checkpoints", "predictions", "pools", "sampling", "warehouses", "features"}
IGNORED_FOLDERS = {
    "logs", "benchmarks", "studies", "downloads", "weights", "classes",
    "batches", "inference", "inference_single", "inference_tested",  # of version 0.3
}  # fmt: skip
# Of a study: links to files that are compared where they are kept, and what is kept.
LINKS = {"checkpoints", "predictions", "datasets", "tested", "suites", ".kept"}
# Of JSON files: what wrote them, and digests over it.
IGNORED_KEYS = {"versions", "provenance", "matcheval", "matcheval_file_sha256", "software"}


def read_table(path: Path) -> Any:
    """Read the columns of a table by name: type, nulls, and values to the bit."""
    read, columns = pq.read_table(path), {}
    for field, column in zip(read.schema, read.columns, strict=True):
        array = column.combine_chunks()
        try:
            values: Any = array.fill_null(0).to_numpy(zero_copy_only=False)
            values = values.tobytes() if values.dtype != object else array.to_pylist()
        except Exception:  # nested and textual types have no such null
            values = array.to_pylist()
        columns[field.name] = (str(field.type), array.is_null().to_pylist(), values)
    return columns


def read_tensors(path: Path) -> Any:
    """Read tensors by name: type, shape and bits."""
    return {k: (str(v.dtype), v.shape, v.tobytes()) for k, v in load_file(path).items()}


def read_pixels(path: Path) -> Any:
    """Read the size and the pixels of an image."""
    with Image.open(path) as image:
        return image.size, np.asarray(image).tobytes()


def read_json(path: Path) -> Any:
    """Read a JSON file, without the keys that say what wrote it."""

    def without_ignored(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without_ignored(v) for k, v in value.items() if k not in IGNORED_KEYS}
        return list(map(without_ignored, value)) if isinstance(value, list) else value

    return without_ignored(json.loads(path.read_text(encoding="utf-8")))


WHOLE = (".csv", ".tex", ".md", ".npy", ".pdf", ".svg", ".txt", ".yaml")
READERS: dict[str, Callable[[Path], Any]] = {
    ".parquet": read_table, ".safetensors": read_tensors, ".png": read_pixels, ".json": read_json,
    **dict.fromkeys(WHOLE, Path.read_bytes),
}  # fmt: skip


def find_files(results: Path, studies: set[str]) -> dict[str, Path]:
    """Find the files to compare in a results folder, by their paths below it."""
    paths = {}
    for path in results.rglob("*"):
        parts = path.relative_to(results).parts
        of_other_study = studies and parts[0] not in studies | SHARED
        is_link = len(parts) > 1 and parts[0] not in SHARED and parts[1] in LINKS
        ignored = of_other_study or is_link or not IGNORED_FOLDERS.isdisjoint(parts)
        if path.suffix in READERS and not ignored and not path.name.startswith("."):
            paths["/".join(parts)] = path
    return paths


def main() -> None:
    """Compare two results folders, print what differs, and end with code 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("studies", nargs="*")
    arguments = parser.parse_args()
    before, after = (
        find_files(folder, set(arguments.studies)) for folder in (arguments.before, arguments.after)
    )
    same, wrong = Counter[str](), Counter[str]()
    for name in sorted(before | after):
        suffix = Path(name).suffix
        if name not in after and arguments.studies and name.split("/")[0] in SHARED:
            continue  # of another study
        if name not in before or name not in after:
            problem = f"only {'before' if name in before else 'after'}"
        elif READERS[suffix](before[name]) != READERS[suffix](after[name]):
            problem = "differs"
        else:
            same[suffix] += 1
            continue
        wrong[suffix] += 1
        print(f"{name}: {problem}")
    print("same:", dict(same), "different:", dict(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
