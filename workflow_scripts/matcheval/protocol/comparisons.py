"""A comparison: one model's predictions on a pair of sets.

Two properties of a set are kept apart: its *origin* (original or replication) is fixed by the
study; its *role* (source or target) is the one it has in the matching.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matcheval.datasets.suites import Pair
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.provenance import check_same_model
from matcheval.predictions.records import Predictions


@dataclass(frozen=True)
class Comparison:
    """One model's predictions on both sets of a pair.

    Attributes
    ----------
    model : str
        Name of the model.
    pair : Pair
        Names of the pair and its sets; it determines which set is the source.
    original, replication : Predictions
        Predictions on the two sets.

    Raises
    ------
    InputError
        On creation, if the pair names a source that is neither of its sets, or the metadata of
        the predictions name different models, weights, transforms, precisions or classes.
    """

    model: str
    pair: Pair
    original: Predictions
    replication: Predictions

    def __post_init__(self) -> None:
        """Check that the predictions can be compared."""
        _ = self.source_is_original
        check_same_model(
            self.original.metadata,
            self.replication.metadata,
            (
                f"the predictions on {self.pair.original}",
                f"those on {self.pair.replication}",
            ),
            self.model,
        )

    @property
    def source_is_original(self) -> bool:
        """Whether the original set is the source."""
        return self.pair.source_is_original(len(self.original), len(self.replication))

    @property
    def source(self) -> Predictions:
        """Predictions on the source set."""
        return self.original if self.source_is_original else self.replication

    @property
    def target(self) -> Predictions:
        """Predictions on the target set."""
        return self.replication if self.source_is_original else self.original

    @property
    def source_name(self) -> str:
        """Name of the source set."""
        return self.pair.original if self.source_is_original else self.pair.replication

    @property
    def target_name(self) -> str:
        """Name of the target set."""
        return self.pair.replication if self.source_is_original else self.pair.original

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Names of the sets on which all predictions are right, or all wrong; source first."""
        sets = {self.source_name: self.source.correct, self.target_name: self.target.correct}
        return tuple(name for name, right in sets.items() if right.all() or not right.any())


def read_comparison(
    model: str, pair: Pair, files: tuple[Path, Path], layouts: Mapping[str, Layout]
) -> Comparison:
    """Read a model's prediction files on a pair."""
    original, replication = files
    return Comparison(
        model,
        pair,
        read_predictions(original, layout=layouts["original"]),
        read_predictions(replication, layout=layouts["replication"]),
    )
