"""Reading the files of inference into `Outputs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs, softmax
from matcheval.accuracy_prediction.outputs.user_files import read_user_file
from matcheval.errors import InputError
from matcheval.inference.files import output_files
from matcheval.inference.statistics import read_statistics
from matcheval.inference.vectors import read_vectors
from matcheval.predictions.files import read_predictions


@dataclass(frozen=True)
class OutputFiles:
    """Where the outputs of models lie.

    Attributes
    ----------
    folder : Path
        Folder of all predictions.
    outputs : tuple of str
        Outputs that inference keeps besides the predictions, `top` excluded.
    custom : mapping
        The user's prediction files by model, by dataset, of datasets without images.
    """

    folder: Path
    outputs: tuple[str, ...] = ()
    custom: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)

    def read(self, dataset: str, model: str, *, further: bool = True) -> Outputs:
        """Read one model's outputs on one dataset.

        Parameters
        ----------
        dataset, model : str
            Names.
        further : bool
            Whether outputs besides the predictions are read.

        Raises
        ------
        InputError
            As `read_outputs` and `user_files.read_user_file`.
        """
        if dataset in self.custom:
            return read_user_file(self.custom[dataset][model]).outputs
        outputs = self.outputs if further else ()
        return read_outputs(output_files(self.folder, dataset, model, outputs))


def read_outputs(files: Mapping[str, Path]) -> Outputs:
    """Read one model's outputs on one dataset.

    Parameters
    ----------
    files : mapping of str to Path
        `predictions`, and perhaps `logits`, `features` and `statistics` of the same pass.

    Returns
    -------
    Outputs
        Predicted classes and confidences are those of the logits where these are given, and
        otherwise those on file, float32.

    Raises
    ------
    InputError
        If a file is missing or unreadable, or has other datapoints than the predictions.
    """
    predictions = read_predictions(files["predictions"])
    found = Outputs(
        labels=predictions.label.astype(np.int64),
        predicted=predictions.prediction.astype(np.int64),
        confidences=predictions.probability.astype(np.float64),
    )
    for kind in ("logits", "features"):
        if kind in files:
            vectors = read_vectors(files[kind], kind)
            if not np.array_equal(vectors.index, predictions.index):
                raise InputError(
                    f"has other datapoints than {files['predictions'].name}",
                    file=files[kind],
                    remedy="Delete both, and run again",
                )
            changes: dict[str, Any] = {kind: vectors.values}
            found = replace(found, **changes)
    if found.logits is not None:
        probabilities = softmax(found.logits)
        found = replace(
            found, probabilities=probabilities, predicted=found.logits.argmax(axis=1),
            confidences=probabilities.max(axis=1),
        )  # fmt: skip
    if "statistics" in files:
        found = replace(found, statistics=read_statistics(files["statistics"])[0])
    return found


def average(members: Sequence[Outputs], name: str) -> Outputs:
    """Return the outputs of an ensemble: the mean of its members' probabilities.

    Parameters
    ----------
    members : sequence of Outputs
        On the same datapoints.
    name : str
        The ensemble's name, for messages.

    Returns
    -------
    Outputs
        Without logits and features, which an ensemble does not have.

    Raises
    ------
    InputError
        If probabilities are not on file, or the members differ in their datapoints.
    """
    matrices = [one.probabilities for one in members]
    if any(matrix is None for matrix in matrices):
        raise InputError(
            f"the probabilities of the members of ensemble '{name}' are not on file",
            file="configuration",
            field="accuracy_prediction.ensembles",
            remedy="Add logits to inference.outputs",
        )
    if any(not np.array_equal(one.labels, members[0].labels) for one in members):  # type: ignore[arg-type]
        raise InputError(f"the members of ensemble '{name}' have other datapoints each")
    mean = np.mean([matrix for matrix in matrices if matrix is not None], axis=0)
    return Outputs(members[0].labels, mean.argmax(axis=1), mean.max(axis=1), probabilities=mean)
