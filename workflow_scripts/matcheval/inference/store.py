"""The files of inference, shared by all studies of a results folder, and whether they are current.

A model's results on a dataset are files `<dataset>/<model><suffix>`, one per output, written
together. The prediction file is written last, and carries a digest of all that the results depend
on, so that a job knows without loading a model what is there already: a killed job goes on after
the last complete dataset, and what another study has computed is not computed again. Imports no
torch.

One file per dataset, not one per model with a row group for each dataset: adding the 200th dataset
to a Parquet file means writing the first 199 again (a closed file cannot be appended to), a kill
while writing costs all of them, and every reader of one dataset would have to know of the others.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.inference import INFERENCE_VERSION, OUTPUT_SUFFIXES
from matcheval.io.files import file_digest
from matcheval.io.self_digests import digest_of
from matcheval.models.rows import ModelSource
from matcheval.predictions.files import read_predictions
from matcheval.predictions.softmax import read_top_k

INPUTS_KEY = "inputs_sha256"


@dataclass(frozen=True)
class ModelFiles:
    """A model to run, and the file of its weights."""

    source: ModelSource
    weights: Path | None

    def digest(self) -> str:
        """Compute a digest of the model's description, code and weights."""
        # The place of the user's file does not matter, its weights do.
        source, file = self.source, self.source.own_weights
        source = replace(source, source=source.source.removesuffix(file))
        digest = hashlib.sha256(f"{source.to_json()} {source.code_digest} ".encode())
        if self.weights is not None:
            try:
                digest.update(bytes.fromhex(file_digest(self.weights)))
            except OSError as error:
                problem = f"no readable file of weights ({error.strerror})"
                remedy = "Train or download the model first"
                raise InputError(problem, file=self.weights, remedy=remedy) from error
        return digest.hexdigest()


@dataclass(frozen=True)
class Task:
    """Results of a model on a dataset to compute: the model, files to write, inputs' digest."""

    model: ModelFiles
    files: Mapping[str, Path]
    inputs: str


def inputs_digest(model: str, description: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Compute a digest of a model's digest, a dataset's description and the deciding settings."""
    images = [description[key] for key in ("sha256", "max_value", "classes", "stored")]
    return digest_of([INFERENCE_VERSION, model, images, settings])


def is_current(files: Mapping[str, Path], inputs: str, n_top: int) -> bool:
    """Whether result files are readable, come from these inputs, and keep enough top classes."""
    try:
        if any(recorded_inputs(path) != inputs for path in files.values()):
            return False
        metadata = read_predictions(files["predictions"]).metadata
        if "top" in files:
            n_kept = read_top_k(files["top"])[1].shape[1]
            return bool(n_kept >= min(n_top, int(metadata["n_classes"])))
    except InputError:  # damaged: it is written again
        return False
    return True


def recorded_inputs(path: Path) -> str | None:
    """Return the digest of inputs that a file records; None if the file is missing or damaged."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return str(json.loads(str(archive["metadata"])).get(INPUTS_KEY))
        return str((pq.read_metadata(path).metadata or {}).get(INPUTS_KEY.encode(), b"").decode())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def output_files(
    folder: str | Path, dataset: str, model: str, outputs: Sequence[str]
) -> dict[str, Path]:
    """Return the files of a model's results on a dataset, by output, the predictions last."""
    return files_at(f"{folder}/{dataset}/{model}", outputs)


def files_at(stem: str, outputs: Sequence[str]) -> dict[str, Path]:
    """Return each output's file, the predictions last: `stem` with the output's suffix."""
    return {name: Path(stem + OUTPUT_SUFFIXES[name]) for name in (*outputs, "predictions")}
