"""Near duplicates of test images among training images: searches, and their effect on accuracies.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.2: for k of n images correct and d near
duplicates, the least accuracy on the others is (k - d) / (n - d).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.io.tables import CONFIDENCE_LEVEL, MODEL, Column, TableSchema, accuracy, fraction
from matcheval.io.text_tables import with_interval
from matcheval.io.user_files import read_columns
from matcheval.predictions.correctness import Correctness
from matcheval.settings import CorrectName, Count, ImagesName, ModelNames, PathText, Settings
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study
from matcheval.study.tables import DatasetTableAnalysis
from matcheval.study.work import check_one_size

SCHEMA = TableSchema(
    "accuracies with and without near duplicates",
    MODEL,
    Column("dataset", pa.string(), "", "name of the test set"),
    *accuracy("all", "size of the test set"),
    *accuracy("duplicates", "test images that are near duplicates"),
    *accuracy("rest", "test images that are not near duplicates"),
    fraction(
        "least_accuracy_rest",
        "accuracy on the rest if all near duplicates were classified correctly",
    ),
    fraction("change", "accuracy on the rest minus accuracy on all images"),
    CONFIDENCE_LEVEL,
    shown={
        "Model": "{model}",
        "All {n_all:,} (%) [{level} CI]": with_interval("accuracy_all"),
        "{n_duplicates:,} duplicates (%)": with_interval("accuracy_duplicates"),
        "Other {n_rest:,} (%)": with_interval("accuracy_rest"),
        "At least (%)": "{least_accuracy_rest:.1%}",
        "Change": "{change:+.2%}",
    },
)


def tabulate(
    correctness: Correctness, dataset: str, file: str, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate accuracies on all images, on near duplicates listed in a file, and on the others."""
    positions = read_columns(file, ("index",), can_be_empty=True)["index"].tolist()
    is_duplicate = np.zeros(len(correctness), bool)
    is_duplicate[correctness.rows_of(positions, file=file)] = True
    rows = []
    for model, correct in zip(correctness.models, correctness.right, strict=True):
        row: dict[str, Any] = {"model": model, "dataset": dataset, "confidence": confidence}
        row |= accuracy_columns("all", correct, confidence)
        row |= accuracy_columns("duplicates", correct[is_duplicate], confidence)
        row |= accuracy_columns("rest", correct[~is_duplicate], confidence)
        least = max(row["n_correct_all"] - len(positions), 0)
        row["least_accuracy_rest"] = least / row["n_rest"] if row["n_rest"] else np.nan
        row["change"] = row["accuracy_rest"] - row["accuracy_all"]
        rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMA.names)


class Search(Settings):
    """A search for near duplicates of one dataset's images in another."""

    of: ImagesName = Field(description="The dataset whose images are looked for")
    among: ImagesName = Field(description="The dataset that they are looked for in")


class NearDuplicatesSettings(Settings):
    """The searches for near duplicates, and files of those that were found by review."""

    searches: tuple[Search, ...] = Field((), description="Searches to run")
    neighbours: Count = Field(10, description="Nearest images that a search keeps of each image")
    compare_size: Count | None = Field(
        None, description="Side to bring image files to; pixels as they are by default"
    )
    sheet: Count = Field(10, description="Rows of a contact sheet; ten fit on a page")
    reviewed: dict[CorrectName, PathText] = Field(
        {}, description="What review found: a CSV file with a column `index` per dataset"
    )
    without: ModelNames = Field((), description="Models to leave out")


class NearDuplicates(DatasetTableAnalysis):
    """Search for near duplicates, and compare accuracies on those found by review and on others."""

    name: ClassVar[str] = "near_duplicates"
    caption: ClassVar[str] = (
        "Accuracies on **{{ snakemake.wildcards.dataset }}**: on all images, on those that were "
        "found to be near duplicates of training images in a review, and on the others, with "
        "Clopper-Pearson intervals. *At least* is the accuracy on the others if all near "
        "duplicates were classified correctly. The change is the accuracy on the others minus that "
        "on all."
    )
    Settings: ClassVar[type[NearDuplicatesSettings]] = NearDuplicatesSettings

    def __init__(self, settings: NearDuplicatesSettings, study: Study) -> None:
        super().__init__(settings, study)
        stem = "near_duplicates/{dataset}-in-{reference}"
        self.nearest = Artifact(f"{study.folder}/{stem}", (".parquet",))
        self.sheet = self.figure(
            stem,
            "Images of **{{ snakemake.wildcards.dataset }}** (framed) that are most similar to an "
            "image of **{{ snakemake.wildcards.reference }}**, by ℓ2 distance over pixels and by "
            "structural similarity, with their nearest neighbours. Whether they are near "
            "duplicates must be decided by a person.",
            {"table": self.name, "of": "{dataset} in {reference} (images)"},
        )  # fmt: skip

    @property
    def dataset_files(self) -> Mapping[str, str]:
        """Files of the near duplicates found by review, by dataset."""
        return self.settings.reviewed

    def check(self) -> None:
        """Check the files from review, and that searched images have one size or are resized."""
        super().check()
        for search in self.settings.searches:
            for key, name in search:
                if self.settings.compare_size is None:
                    field = self.field("searches", key)
                    remedy = f"Add 'compare_size: 256' to {self.name}"
                    check_one_size(self.study, name, field=field, remedy=remedy)

    @property
    def targets(self) -> list[str]:
        """Paths of the searches' results and contact sheets, and of the tables of accuracies."""
        of_searches = [
            file
            for search in self.settings.searches
            for artifact in (self.nearest, self.sheet)
            for file in artifact.expand(dataset=search.of, reference=search.among)
        ]
        return [*of_searches, *super().targets]

    def _dataset_folders(self, wildcards: Wildcards) -> dict[str, Any]:
        folder = self.study.dataset_folder
        return {"queries": folder(wildcards.dataset), "references": folder(wildcards.reference)}

    def search_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `search_near_duplicates`, but for the file to write."""
        size, k = self.settings.compare_size, self.settings.neighbours
        return self._dataset_folders(wildcards) | {"size": size, "k": k}

    def sheet_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments `queries`, `references` and `rows` of `draw_sheet`."""
        return self._dataset_folders(wildcards) | {"rows": self.settings.sheet}
