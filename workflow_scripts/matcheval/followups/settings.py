"""Which follow-ups a study makes. Light to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
    near_duplicates : mapping
        CSV files of reviewed near duplicates, by dataset.
    hard_images : tuple of str
        Datasets.
    hard_share : float
        Part of a dataset that counts as hard, at least.
    people : mapping
        CSV files of people's answers, by dataset.
    balanced : tuple of str
        Datasets.
    by_frequency : mapping
        CSV or Parquet files of selection frequencies, by dataset; for a sampled dataset, "" for
        those it was sampled by.
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
    near_duplicates: Mapping[str, str]
    hard_images: tuple[str, ...]
    hard_share: float
    people: Mapping[str, str]
    balanced: tuple[str, ...]
    by_frequency: Mapping[str, str]
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
            near_duplicates=given["near_duplicates"],
            hard_images=tuple(given["hard_images"]),
            hard_share=float(given["hard_share"]),
            people=given["people"],
            balanced=tuple(given["balanced"]),
            by_frequency=given["by_frequency"],
            difficulty=tuple(given["difficulty"]),
            difficulty_sigma=float(given["difficulty_sigma"]),
            seed=int(given["seed"]),
        )

    @property
    def datasets(self) -> dict[str, tuple[str, ...]]:
        """Names of the datasets whose predictions are needed, by setting."""
        return {
            "near_duplicates": tuple(self.near_duplicates),
            "hard_images": self.hard_images,
            "people": tuple(self.people),
            "balanced": self.balanced,
            "by_frequency": tuple(self.by_frequency),
        }

    @property
    def own_files(self) -> dict[str, dict[str, str]]:
        """The user's own files, by setting and dataset."""
        files = {
            "near_duplicates": self.near_duplicates,
            "people": self.people,
            "by_frequency": self.by_frequency,
        }
        return {key: {d: f for d, f in of.items() if f} for key, of in files.items()}
