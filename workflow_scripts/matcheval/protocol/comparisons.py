"""A comparison: one model on a pair of sets, with roles and origins.

*Origin* (original or replication) is what a set is; *role* (source or target) is what it plays in
the matching.
"""

from dataclasses import dataclass

from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError
from matcheval.predictions.records import Predictions


@dataclass(frozen=True)
class Comparison:
    """One model's predictions on both sets of a pair, with the roles decided.

    Raises
    ------
    InputError
        On creation, if the pair names a source that is neither of its sets, or the predictions
        say that they are of different models or label spaces.
    """

    model: str
    pair: Pair
    original: Predictions
    replication: Predictions

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        _ = self.source_is_original
        for key in ("model", "n_classes"):
            ours, theirs = (p.metadata.get(key) for p in (self.original, self.replication))
            if None not in (ours, theirs) and ours != theirs:
                raise InputError(
                    f"predictions on {self.pair.original} are of {ours}, on "
                    f"{self.pair.replication} of {theirs}",
                    file=self.model,
                    field=key,
                    remedy="Both must be of one model and one label space",
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
