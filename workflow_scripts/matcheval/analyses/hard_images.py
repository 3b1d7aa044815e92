"""Hard images: those that the fewest models classify correctly.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.4 and B.2.5.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.figures import style
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet, printed_pixels
from matcheval.io.tables import DATASET, Column, TableSchema
from matcheval.predictions.correctness import Correctness
from matcheval.settings import Count, Number
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings


def count_by_models(table: pd.DataFrame) -> pd.DataFrame:
    """Count hard images by the number of models that are correct on them, with a running total."""
    counts = table.groupby(["n_right", "n_models"]).size().rename("images").reset_index()
    return counts.assign(together=counts["images"].cumsum())


SCHEMA = TableSchema(
    "hard images",
    DATASET,
    Column("index", pa.int32(), "", "position in the dataset, from 0"),
    Column("label", pa.int16(), "", "true class"),
    Column("n_right", pa.int32(), "models", "how many models classify it correctly"),
    Column("n_models", pa.int32(), "models", "number of models"),
    summary=count_by_models,
    shown={
        "Correct of {n_models} models": "{n_right:d}",
        "Images": "{images:,}",
        "Together": "{together:,}",
    },
)


def tabulate(
    correctness: Correctness, dataset: str, file: str = "", *, share: float = 0.05
) -> pd.DataFrame:
    """List the share of a dataset's images that the fewest models classify correctly, and ties."""
    n_right = correctness.right.sum(axis=0)
    # In floating point, 0.07 * 100 is slightly above 7; without the margin, 8 would be listed.
    wanted = max(1, int(np.ceil(share * len(correctness) - 1e-9)))
    last = np.sort(n_right)[wanted - 1]
    rows = np.flatnonzero(n_right <= last)
    rows = rows[np.argsort(n_right[rows], kind="stable")]
    return pd.DataFrame({
        "dataset": dataset, "index": correctness.index[rows], "label": correctness.labels[rows],
        "n_right": n_right[rows], "n_models": len(correctness.models),
    })[SCHEMA.names]  # fmt: skip


_COLUMNS = 9


def plot_hard_images(table: pd.DataFrame, dataset: Dataset, most: int = 30) -> "style.Figure":
    """Plot the `most` hardest images as a contact sheet, with their classes."""
    shown = table.head(most)
    pictures = []
    for _, row in shown.iterrows():
        caption = f"{row['index']}: {dataset.classes[row['label']]}\n"
        caption += f"{row['n_right']} of {row['n_models']}"
        pictures.append(Picture(printed_pixels(dataset.image(row["index"])), caption))
    rows = [pictures[i : i + _COLUMNS] for i in range(0, len(pictures), _COLUMNS)]
    title = f"{dataset.name}: the {len(shown)} hardest of {len(dataset):,} images"
    note = "Position: class, and how many models classify it correctly."
    return plot_contact_sheet(rows, title, note)


def draw_hard_images(*, table: Path, folder: Path, sheet: int, outputs: Sequence[Path]) -> None:
    """Read a table of hard images, and save a contact sheet of its first `sheet` images."""
    figure = plot_hard_images(SCHEMA.read(table).to_pandas(), read_dataset(folder), sheet)
    style.save_figure(figure, *outputs)


class HardImagesSettings(DatasetTableSettings):
    """Datasets whose hard images are listed and drawn, and how many of them."""

    share: Annotated[Number, Field(gt=0, le=1)] = Field(
        0.05, description="Smallest share of a dataset that is listed as hard"
    )
    sheet: Count = Field(20, description="Images on a contact sheet")


class HardImages(DatasetTableAnalysis):
    """List and draw the images of a dataset that the fewest models classify correctly."""

    name: ClassVar[str] = "hard_images"
    caption: ClassVar[str] = (
        "The images of **{{ snakemake.wildcards.dataset }}** that the fewest models classify "
        "correctly. All images that tie with the last one listed are included."
    )
    Settings: ClassVar[type[HardImagesSettings]] = HardImagesSettings

    def __init__(self, settings: HardImagesSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.sheet = self.figure(
            "hard_images/{dataset}",
            "The hardest images of **{{ snakemake.wildcards.dataset }}**, with their classes and "
            "the number of models that classify them correctly.",
            {"table": self.name, "of": "{dataset} (images)"},
        )  # fmt: skip

    @property
    def targets(self) -> list[str]:
        """Paths of tables, and of contact sheets of those datasets that have images."""
        drawn = [name for name in self.dataset_files if self.study.datasets[name].has_images]
        return [*super().targets, *self.sheet.expand(dataset=drawn)]

    def sheet_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments `folder` and `sheet` of `draw_hard_images`."""
        folder = self.study.dataset_folder(wildcards.dataset)
        return {"folder": folder, "sheet": self.settings.sheet}
