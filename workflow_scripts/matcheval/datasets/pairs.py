"""A pair of similar-but-non-identical datasets: original and replication."""

from dataclasses import dataclass

from matcheval.errors import InputError


@dataclass(frozen=True)
class Pair:
    """Two similar-but-non-identical sets."""

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
        """Determine whether the original set is the source."""
        if self.source is None:
            return n_original >= n_replication
        if self.source not in (self.original, self.replication):
            raise InputError(
                f"source '{self.source}' of pair '{self.name}' is neither '{self.original}' nor "
                f"'{self.replication}'"
            )
        return self.source == self.original
