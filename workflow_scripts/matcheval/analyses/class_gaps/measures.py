"""What a matching says of single classes, without matching again.

Source and target points are of a class by their own label, so that a class's matched subsets may
differ in size: under criterion 2, and for true classes always, they are no pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.predictions.records import Predictions
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.decomposition import Floats, Scored
from matcheval.protocol.gaps import GapTerms, gap_terms
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.standard_errors import ErrorTerms, isotonic_accuracy

Classes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """One model and matching, by class; means are over the seeds with matched points on both sides.

    Arrays of shape (n_classes,), but `errors`.

    Attributes
    ----------
    n_source, n_target : float64
        Datapoints of the class.
    correct_source, correct_target : float64
        Of these, predicted correctly.
    n_matched_source, n_matched_target : float64
        Matched ones, mean over all seeds.
    terms : GapTerms
        Matched gap, source selection and dropped targets of the class, original minus replication.
    fraction_unmatched : float64
        Mean over all seeds.
    errors : ErrorTerms
        What each datapoint adds to the error of its own class's matched gap.
    """

    n_source: Floats
    n_target: Floats
    correct_source: Floats
    correct_target: Floats
    n_matched_source: Floats
    n_matched_target: Floats
    terms: GapTerms
    fraction_unmatched: Floats
    errors: ErrorTerms

    @property
    def n_matched(self) -> Floats:
        """Matched points of the side that has fewer."""
        return np.minimum(self.n_matched_source, self.n_matched_target)


def measure_classes(
    one: MatchedModel, source_class: Classes, target_class: Classes, n_classes: int
) -> ClassMeasures:
    """Count matched points and correct predictions of every class, and average over seeds."""
    comparison, matched = one.comparison, [row != UNMATCHED for row in one.rows.values()]
    picked = [row[hit] for row, hit in zip(one.rows.values(), matched, strict=True)]
    source = _Side.of(comparison.source, source_class, picked, n_classes)
    target = _Side.of(comparison.target, target_class, matched, n_classes)
    defined = (source.n_matched > 0) & (target.n_matched > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = gap_terms(
            accuracy_source=source.n_correct / source.n,
            matched_accuracy_source=source.n_matched_correct / source.n_matched,
            matched_accuracy_target=target.n_matched_correct / target.n_matched,
            unmatched_accuracy_target=(target.n_correct - target.n_matched_correct)
            / (target.n - target.n_matched),
            fraction_unmatched=1 - target.n_matched / target.n,
            source_is_original=comparison.source_is_original,
        )
        fraction_unmatched = 1 - target.n_matched.mean(axis=0) / target.n
    means = (_mean(values, defined) for values in vars(terms).values())
    errors = ErrorTerms(source.errors(picked, defined), -target.errors(matched, defined))
    return ClassMeasures(
        source.n, target.n, source.n_correct, target.n_correct, source.n_matched.mean(axis=0),
        target.n_matched.mean(axis=0), GapTerms(*means), fraction_unmatched, errors,
    )  # fmt: skip


# Which datapoints of a side each seed matched: rows, or a mask.
_Picked = Sequence[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class _Side:
    """Counts of one set: arrays of shape (n_classes,); of matched points (n_seeds, n_classes)."""

    predictions: Predictions
    classes: Classes
    n: Floats
    n_correct: Floats
    n_matched: Floats
    n_matched_correct: Floats

    @classmethod
    def of(
        cls, predictions: Predictions, classes: Classes, picked: _Picked, n_classes: int
    ) -> "_Side":
        def count(chosen: Any) -> tuple[Floats, Floats]:
            some, right = classes[chosen], predictions.correct[chosen]
            sizes = np.bincount(some, minlength=n_classes).astype(np.float64)
            return sizes, np.bincount(some, right, n_classes).astype(np.float64)

        n_matched, n_matched_correct = zip(*(count(chosen) for chosen in picked), strict=True)
        return cls(
            predictions, classes, *count(slice(None)), np.array(n_matched),
            np.array(n_matched_correct),
        )  # fmt: skip

    def errors(self, picked: _Picked, defined: npt.NDArray[np.bool_]) -> Floats:
        """Error terms, with weights that sum to 1 within every class (`PickWeights`)."""
        weights = np.zeros(len(self.classes))
        n_seeds = np.maximum(defined.sum(axis=0), 1)
        for chosen, n_matched, is_defined in zip(picked, self.n_matched, defined, strict=True):
            share = np.where(is_defined, 1 / np.maximum(n_matched, 1), 0) / n_seeds
            weights[chosen] += share[self.classes[chosen]]
        correct = self.predictions.correct
        return weights * (
            correct - isotonic_accuracy(Scored(self.predictions.probability, correct))
        )


def _mean(values: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    """Average over the seeds for which all terms are defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0)
    return mean
