"""Which predictions on the sets of a suite are right, by what its members say of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.all_labels import AllLabels, right_predictions
from matcheval.datasets.folders import read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.suites import Groups, Member
from matcheval.errors import configuration_error
from matcheval.predictions.correctness import Correctness, dataset_correctness
from matcheval.predictions.provenance import SameModels
from matcheval.predictions.records import Predictions
from matcheval.study.tables import SuiteFiles


@dataclass
class SuiteCorrectness:
    """Reads the predictions on a suite and its base."""

    files: SuiteFiles
    _bases: dict[Groups, Correctness] = field(default_factory=dict)
    _same_models: SameModels = field(default_factory=SameModels)

    def __post_init__(self) -> None:
        self._classes = {
            name: tuple(read_description(self.files.folders[name])["classes"])
            if name in self.files.folders
            else spec.settings.known_classes
            for name, spec in self.files.specs.items()
        }

    def __call__(self, name: str, member: Member) -> Correctness:
        """Return which predictions on a set, or on the base, are right."""
        if name != self.files.base:
            return self._read(name, member.groups, member.all_labels)
        if member.groups not in self._bases:
            self._bases[member.groups] = self._read(name, member.groups, "")
        return self._bases[member.groups]

    @property
    def labels(self) -> dict[str, npt.NDArray[np.int64]]:
        """Labels of the classes that count, by dataset; of those only that have not all."""
        found, base, suite = {}, self.files.base, self.files.suite
        of_base = self._classes[base]
        for member in suite.members:
            of_set = self._classes[member.dataset]
            if of_set and of_base and of_set != of_base:
                raise configuration_error(
                    f"dataset '{member.dataset}' has, against the base '{base}', "
                    f"{compare_classes(of_set, of_base)}",
                    field=f"suite_accuracies.suites.{suite.name}",
                )
            if member.counting:
                known = list(of_set or of_base or ())
                found[member.dataset] = np.array([known.index(one) for one in member.counting])
        return found

    def _read(self, name: str, groups: Groups, all_labels: str) -> Correctness:
        known = self.files
        classes = self._classes[name] or self._classes[known.base] or ()
        every = (
            AllLabels(Path(all_labels), known.folders[name], groups).read() if all_labels else None
        )
        right = partial(_right, groups=groups, classes=classes, every=every)
        return dataset_correctness(
            known.specs[name], known.models, known.paths(name), right, self._same_models
        )


def _right(
    predictions: Predictions,
    groups: Groups,
    classes: Sequence[str],
    every: npt.NDArray[np.int64] | None,
) -> npt.NDArray[np.bool_]:
    if every is None and not groups:
        return predictions.correct
    labels = predictions.label if every is None else every[predictions.index]
    return right_predictions(predictions.prediction, labels, groups, classes)
