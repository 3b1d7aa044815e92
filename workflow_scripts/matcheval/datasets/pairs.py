"""A pair of similar-but-non-identical datasets: original and replication."""

from dataclasses import dataclass

from matcheval.errors import InputError


@dataclass(frozen=True)
class Pair:
    """Two similar-but-non-identical sets.

    Attributes
    ----------
    name : str
        Name of the pair; it seeds the random picks.
    original, replication : str
        Names of the sets.
    source : str or None
        Which of the two is the source; None for the protocol's rule, see `source_is_original`.
    """

    name: str
    original: str
    replication: str
    source: str | None = None

    def source_is_original(self, n_original: int, n_replication: int) -> bool:
        """Whether the original is the source: as named, else the larger, else the original.

        Raises
        ------
        InputError
            If the named source is neither set.
        """
        if self.source is None:
            return n_original >= n_replication
        if self.source not in (self.original, self.replication):
            raise InputError(
                f"source '{self.source}' of pair '{self.name}' is neither '{self.original}' nor "
                f"'{self.replication}'"
            )
        return self.source == self.original
