"""Flip single bits of built results, and count which of them their readers accept.

    .venv/bin/python benchmarks/bit_flips.py [RESULTS] [--flips 1000] [--seed 0]

RESULTS is a results folder, by default that of the digits study. Of every kind of file that it
contains, `--flips` bits of random files at random positions are flipped, one at a time, in a copy;
the file is then read as the workflow reads it. A flip is *refused* if the reader says that the file
is damaged, *accepted* if it reads it, and a *crash* if anything else is raised.
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import ROOT, write_results

from matcheval.datasets.folders import DATAPOINTS_SCHEMA, read_dataset
from matcheval.errors import InputError
from matcheval.inference.outputs import read_statistics, read_vectors
from matcheval.io.json_files import read_json
from matcheval.io.tables import read_parquet
from matcheval.models.checkpoints import load_checkpoint
from matcheval.predictions.files import read_predictions
from matcheval.predictions.softmax import read_top_k

# Kind, files below the results folder, and what reads them.
KINDS: tuple[tuple[str, str, Callable[[Path], object]], ...] = (
    ("predictions", "predictions/*/*.parquet", read_predictions),
    ("logits", "predictions/*/*.logits.parquet", lambda path: read_vectors(path, "logits")),
    ("features", "predictions/*/*.features.parquet", lambda path: read_vectors(path, "features")),
    ("top classes", "predictions/*/*.top.parquet", read_top_k),
    ("statistics", "predictions/*/*.npz", read_statistics),
    ("checkpoints", "checkpoints/*.safetensors", load_checkpoint),
    ("datapoints", "datasets/*/datapoints.parquet", DATAPOINTS_SCHEMA.read),
    ("descriptions", "datasets/*/dataset.json", read_json),
    ("images", "datasets/*/images.npy", lambda path: read_dataset(path.parent)),
    ("suites", "*/suites/*.json", read_json),
    ("pairs", "*/pairs/**/*.parquet", read_parquet),
    ("matched runs", "*/matched/**/*.parquet", read_parquet),
    ("tables", "*/tables/**/*.parquet", read_parquet),
    ("scores and predicted accuracies", "*/accuracy_prediction/**/*.parquet", read_parquet),
)
_OUTPUTS = (".logits", ".features", ".top")


def flip(path: Path, folder: Path, rng: np.random.Generator) -> Path:
    """Copy a file, and its folder if it is part of a dataset, and flip one bit of the copy."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for each in path.parent.iterdir() if path.name == "images.npy" else [path]:
        shutil.copy2(each, folder / each.name)
    copy = folder / path.name
    position = int(rng.integers(copy.stat().st_size))
    with copy.open("r+b") as stream:
        stream.seek(position)
        (value,) = stream.read(1)
        stream.seek(position)
        stream.write(bytes([value ^ (1 << int(rng.integers(8)))]))
    return copy


def attempt(read: Callable[[Path], object], path: Path) -> str:
    """Read a damaged file: `refused`, `accepted` or the type of another exception."""
    try:
        read(path)
    except InputError:
        return "refused"
    except Exception as error:
        return type(error).__name__
    return "accepted"


def main() -> None:
    """Flip bits of every kind of file that there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=ROOT / "results")
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, (kind, pattern, read) in enumerate(KINDS):
            files = sorted(arguments.results.glob(pattern))
            if kind == "predictions":
                files = [path for path in files if path.with_suffix("").suffix not in _OUTPUTS]
            if not files:
                continue
            rng = np.random.default_rng([arguments.seed, number])
            found = Counter(
                attempt(read, flip(files[rng.integers(len(files))], Path(temporary, "copy"), rng))
                for _ in range(arguments.flips)
            )
            refused, accepted = found.pop("refused", 0), found.pop("accepted", 0)
            rows.append(
                {
                    "kind": kind, "files": len(files), "seed": arguments.seed,
                    "flips": arguments.flips, "refused": refused, "accepted": accepted,
                    "crashes": " ".join(f"{name} {n}" for name, n in found.items()) or "0",
                }
            )  # fmt: skip
    write_results("bit_flips", rows, "pyarrow", "numpy", "safetensors")


if __name__ == "__main__":
    main()
