"""How a test set is sampled from a pool of annotated candidates: the block `sampling`."""

from enum import StrEnum
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from matcheval import settings as types
from matcheval.datasets.kind import DatasetKind
from matcheval.io.tables import Column, TableSchema, text
from matcheval.settings import Count, Name, Settings


class Strategy(StrEnum):
    """How images are chosen among the eligible candidates of a class."""

    MATCHED_FREQUENCY = "matched_frequency"
    THRESHOLD = "threshold"
    TOP_IMAGES = "top_images"
    KEYWORDS = "keywords"


class SamplingSettings(Settings):
    """How a test set is sampled."""

    strategy: Strategy = Field(description="Which eligible candidates are taken")
    per_class: Count = Field(description="Images per class: the new set is exactly balanced")
    seed: types.Integer = Field(0, description="Of all random choices")
    threshold: types.Fraction = Field(
        0.7, description="Lowest selection frequency, for strategy threshold"
    )
    thresholds: dict[str, types.Fraction] = Field({}, description="The same for single classes")
    bins: Count = Field(5, description="Bins of the original set's histograms")
    fill_upward: types.Boolean = Field(
        False, description="Fill a short frequency bin from the next higher one that has images"
    )
    max_distance: Annotated[types.Number, Field(ge=0)] | None = Field(
        None,
        description="Candidates within this ℓ2 distance (pixel values) of an image of the "
        "reference sets, or of another sampled image, are near duplicates; by default pixels are "
        "not compared",
    )
    compare_size: Count | None = Field(
        None,
        description="Side of the squares that images are resized to before they are compared: "
        "needed for image files, whose sizes differ",
    )


class SampledDataset(SamplingSettings, DatasetKind):
    """A dataset that is sampled from a pool of the configuration."""

    kind: Literal["sampled"]
    pool: Name = Field(description="A pool of `sampling.pools`")
    start_from: Name | None = Field(None, description="A sampled set whose images are kept")


class SimulationSettings(Settings):
    """How annotations are simulated."""

    seed: types.Seed = Field(0, description="Of the simulated workers")
    assignments: Count = Field(10, description="Workers per task")
    compare_size: Count | None = Field(
        None, description="Side of the squares that image files are resized to"
    )


class PoolSettings(Settings):
    """A pool: candidates, the set that is replicated, and files that say what is known of them."""

    candidates: types.ImagesName = Field(description="The dataset that images are sampled from")
    original: types.ImagesName = Field(description="The dataset that is replicated")
    against: types.UniqueTuple[types.ImagesName] = Field(
        (), description="Further datasets whose images are not sampled"
    )
    annotations: Annotated[str, Field(pattern=r"\.(csv|parquet)$")] | None = Field(
        None, description="File of the workers' annotations"
    )
    simulate: SimulationSettings | None = Field(None, description="Instead of annotations")
    repeated: Literal["refuse", "first"] = Field(
        "refuse", description="Repeated annotations of an image by one worker"
    )
    keywords: types.PathText | None = Field(None, description="File of the candidates' keywords")
    blacklist: types.PathText | None = Field(None, description="File of candidates to leave out")
    near_duplicates: types.PathText | None = Field(
        None, description="File of reviewed near duplicates"
    )

    @model_validator(mode="after")
    def _check_sets_and_annotations(self) -> "PoolSettings":
        """Check that candidates are not the original, and annotations not given and simulated."""
        if self.candidates == self.original:
            raise ValueError(f"'{self.original}' is pool and original at once")
        if self.annotations is not None and self.simulate is not None:
            raise ValueError("annotations are given and simulated at once. Leave out one of them")
        return self

    @property
    def has_annotations(self) -> bool:
        """Whether the pool has annotations, from a file or simulated."""
        return self.annotations is not None or self.simulate is not None

    @property
    def sets(self) -> list[str]:
        """Names of the pool's datasets: candidates, original and further ones, each once."""
        return list(dict.fromkeys((self.candidates, self.original, *self.against)))

    @property
    def custom_files(self) -> dict[str, str]:
        """The user's files, by option."""
        keys = ("annotations", "keywords", "blacklist", "near_duplicates")
        return {key: path for key in keys if (path := getattr(self, key)) is not None}


class SampledSettings(Settings):
    """The pools of a study, from which datasets of kind `sampled` are taken."""

    pools: types.Named[PoolSettings] = Field({}, description="By name")


_ORIGIN = text("origin", "set of the image: pool or original")
_IMAGE = text("image", "name of the image in its dataset")
_CLASS = text("class", "name of the class that the image was shown for")
_STRATUM = text("stratum", "frequency bin or keyword; empty: the whole class")
_COUNTS = (
    Column("n_annotations", pa.int32(), "annotations", "annotations of the image for this class"),
    Column("n_selected", pa.int32(), "annotations", "how many of them selected the image"),
    Column(
        "frequency", pa.float64(), "fraction", "n_selected / n_annotations; 0 if there are none"
    ),
)

ANNOTATIONS = TableSchema(
    "workers' annotations",
    text("task", "the grid of images shown to the worker"),
    text("worker", "name of the worker"),
    _ORIGIN,
    _IMAGE,
    _CLASS,
    Column("selected", pa.bool_(), "", "whether the worker said the image shows the class"),
)

FREQUENCIES = TableSchema("selection frequencies", _ORIGIN, _IMAGE, _CLASS, *_COUNTS)

PROVENANCE = TableSchema(
    "provenance of a sampled test set",
    Column("index", pa.int32(), "", "position in the new test set, from 0"),
    text("image", "name of the image in the pool"),
    Column("pool_index", pa.int32(), "", "position of the image in the pool, from 0"),
    _CLASS,
    *_COUNTS,
    _STRATUM,
    text("drawn_for", "the stratum that the image fills"),
    Column("round", pa.int32(), "1", "round in which it was sampled; 0: an earlier version"),
)

EXCLUDED = TableSchema(
    "candidates that were not eligible",
    _IMAGE,
    _CLASS,
    *_COUNTS,
    text("reason", "the first reason that applies"),
    text("detail", "the image that it duplicates, as set/name"),
    Column("round", pa.int32(), "1", "round after which it was excluded; 0: before the first"),
)

STRATA = TableSchema(
    "strata of a sampled test set",
    _CLASS,
    _STRATUM,
    Column("n_original", pa.int32(), "images", "images of the original set; 0 if not used"),
    Column("n_target", pa.int32(), "images", "images to sample for the stratum"),
    Column("n_drawn", pa.int32(), "images", "images sampled for it"),
    Column("n_own", pa.int32(), "images", "of these, drawn from it; others from higher ones"),
)
