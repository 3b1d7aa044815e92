"""A pair of similar-but-non-identical datasets: original and replication."""

from dataclasses import dataclass

from matcheval.errors import InputError


@dataclass(frozen=True)
class Pair:
    """Two similar-but-non-identical sets.

    Attributes
    ----------
    name : str
        Name of the pair; random selections are seeded by it.
    original, replication : str
        Names of the sets.
    source : str or None
        Name of the set that is the source; None for the protocol's rule, see `source_is_original`.
    paired : bool
        Whether both sets show the same images, row by row.
    groups_shared : bool
        Whether a name of a group means the same group in both sets.
    """

    name: str
    original: str
    replication: str
    source: str | None = None
    paired: bool = False
    groups_shared: bool = False

    @property
    def datasets(self) -> dict[str, str]:
        """Names of the sets, by origin."""
        return {"original": self.original, "replication": self.replication}

    def source_is_original(self, n_original: int, n_replication: int) -> bool:
        """Determine whether the original set is the source.

        It is if it is named as the source; if no source is named, it is unless the replication set
        is larger.

        Parameters
        ----------
        n_original, n_replication : int
            Numbers of datapoints of the sets.

        Returns
        -------
        bool

        Raises
        ------
        InputError
            If the named source is neither of the sets.
        """
        if self.source is None:
            return n_original >= n_replication
        if self.source not in (self.original, self.replication):
            raise InputError(
                f"source '{self.source}' of pair '{self.name}' is neither '{self.original}' nor "
                f"'{self.replication}'"
            )
        return self.source == self.original
