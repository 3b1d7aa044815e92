"""Which follow-ups a study makes. Light to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Follow-ups that tabulate what models get right on a dataset (see `kinds`); those with a file of
# the user's own per dataset; those with a figure of the table.
ON_DATASETS = (
    "near_duplicates", "hard_images", "balanced", "by_frequency", "groups", "shared_errors",
)  # fmt: skip
WITH_FILES = ("near_duplicates", "by_frequency", "groups")
DRAWN = ("by_frequency", "shared_errors")


@dataclass(frozen=True)
class Search:
    """A search for near duplicates of one dataset's images in another."""

    dataset: str
    reference: str


@dataclass(frozen=True)
class FollowUps:
    """The follow-ups of a study; each empty for none.

    Attributes
    ----------
    searches : tuple of Search
        Searches for near duplicates.
    neighbours : int
        How many each search keeps per image.
    compare_size : int or None
        Side that images are brought to before they are compared.
    sheet : int
        Images, or rows, of a contact sheet.
    without : tuple of str
        Models that no follow-up counts.
    on_datasets : mapping
        For each of `ON_DATASETS` the datasets it is made for, each with the user's own file: CSV
        files of reviewed near duplicates, CSV or Parquet files of selection frequencies (empty for
        a sampled dataset, which has its own), CSV files of groups; empty for the others.
    hard_share : float
        Part of a dataset that counts as hard, at least.
    people : mapping
        CSV files of people's answers, by pair.
    revisions : mapping
        Datasets in their order, by the name of what they are revisions of.
    difficulty : tuple of str
        Pairs to which the model of difficulty is fitted.
    difficulty_sigma : float
        Standard deviation of the original's difficulties.
    seed : int
        Of balanced subsets and simulated sets.
    """

    searches: tuple[Search, ...]
    neighbours: int
    compare_size: int | None
    sheet: int
    without: tuple[str, ...]
    on_datasets: Mapping[str, Mapping[str, str]]
    hard_share: float
    people: Mapping[str, str]
    revisions: Mapping[str, tuple[str, ...]]
    difficulty: tuple[str, ...]
    difficulty_sigma: float
    seed: int

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> "FollowUps":
        """Read what the configuration's schema has passed."""
        return cls(
            searches=tuple(Search(s["of"], s["among"]) for s in given["searches"]),
            neighbours=int(given["neighbours"]),
            compare_size=given["compare_size"],
            sheet=int(given["sheet"]),
            without=tuple(given["without"]),
            on_datasets={
                kind: given[kind] if kind in WITH_FILES else dict.fromkeys(given[kind], "")
                for kind in ON_DATASETS
            },
            hard_share=float(given["hard_share"]),
            people=given["people"],
            revisions={name: tuple(sets) for name, sets in given["revisions"].items()},
            difficulty=tuple(given["difficulty"]),
            difficulty_sigma=float(given["difficulty_sigma"]),
            seed=int(given["seed"]),
        )

    def options(self, kind: str, confidence: float) -> dict[str, Any]:
        """What the table of a follow-up on a dataset depends on, beside the dataset."""
        options: dict[str, dict[str, Any]] = {
            "hard_images": {"share": self.hard_share},
            "balanced": {"seed": self.seed, "confidence": confidence},
            "shared_errors": {},
        }
        return options.get(kind, {"confidence": confidence})

    @property
    def own_files(self) -> dict[str, dict[str, str]]:
        """The user's own files, by setting and dataset or pair."""
        files = {key: self.on_datasets[key] for key in WITH_FILES} | {"people": self.people}
        return {key: {d: f for d, f in of.items() if f} for key, of in files.items()}
