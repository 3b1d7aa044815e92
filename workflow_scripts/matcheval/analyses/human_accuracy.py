"""Accuracies of human participants beside those of the models, on the same images.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import InputError
from matcheval.io import text_tables
from matcheval.io.tables import CONFIDENCE_LEVEL, TableSchema, accuracy, fraction, text
from matcheval.io.text_tables import TextColumn, with_interval
from matcheval.io.user_files import read_columns
from matcheval.names import ORIGINS
from matcheval.predictions.correctness import Correctness, dataset_correctness
from matcheval.settings import ModelNames, Name, Need, PathText, Ref, Settings
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis

COLUMNS = ["participant", "set", "index", "answer"]


def _text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out the text table: a row per participant, and a last one of means."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    columns, last = text_tables.lay_out(table, {"Participant": "{participant}"}), ["mean"]
    for origin, head in (("original", "Original"), ("replication", "New")):
        columns += text_tables.lay_out(table, {
            f"{head} accuracy (%) [{level}]": with_interval(f"accuracy_{origin}"),
            "Images": f"{{n_{origin}:,}}", "Models (%)": f"{{models_{origin}:.1%}}",
        })  # fmt: skip
        people, models = (table[f"{name}_{origin}"].mean() for name in ("accuracy", "models"))
        last += [text_tables.percent_cell(people), "", text_tables.percent_cell(models)]
    gaps = table["gap"]
    better = f"{(gaps > 0).sum()} better on the original, {(gaps < 0).sum()} on the new"
    last.append(f"{text_tables.signed_cells([gaps.mean()])[0]} ({better})")
    columns += text_tables.lay_out(table, {"Gap": "{gap:+.1%}"})
    return text_tables.with_last_row(columns, last)


SCHEMA = TableSchema(
    "human accuracies",
    text("participant", "name of the participant"),
    text("pair", "name of the pair of sets"),
    *accuracy("original", "images of the original that the participant classified"),
    fraction("models_original", "mean accuracy of the models on the same images"),
    *accuracy("replication", "images of the replication that the participant classified"),
    fraction("models_replication", "mean accuracy of the models on the same images"),
    fraction("gap", "accuracy, original minus replication"),
    CONFIDENCE_LEVEL,
    shown=_text_columns,
)


def read_annotations(path: str | Path) -> pd.DataFrame:
    """Read the class that each human participant assigned to each image, from a CSV file."""
    table = read_columns(path, COLUMNS[2:], texts=COLUMNS[:2])
    unknown = table.loc[~table["set"].isin(ORIGINS), "set"]
    if len(unknown):
        raise InputError(f"'{unknown.iloc[0]}' is none of {', '.join(ORIGINS)}", file=path)
    repeated = table.duplicated(["participant", "set", "index"])
    if repeated.any():
        row = table[repeated].iloc[0]
        who, what = f"participant '{row['participant']}'", f"image {row['index']}"
        raise InputError(f"{who} annotated {what} of the {row['set']} twice", file=path)
    return table


def tabulate(
    annotations: pd.DataFrame, correctness: Mapping[str, Correctness], pair: str,
    file: object = None, *, confidence: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate each participant's accuracy on both sets, and models' on the same images."""
    rows = []
    for participant, answers in annotations.groupby("participant", sort=True):
        row: dict[str, Any] = {"participant": participant, "pair": pair, "confidence": confidence}
        for origin in ORIGINS:
            of_set, of_models = answers[answers["set"] == origin], correctness[origin]
            images = of_models.rows_of(of_set["index"].tolist(), file=file)
            correct = of_models.labels[images] == of_set["answer"].to_numpy()
            row |= accuracy_columns(origin, correct, confidence)
            right = of_models.right[:, images]
            row[f"models_{origin}"] = float(right.mean()) if right.size else np.nan
        row["gap"] = row["accuracy_original"] - row["accuracy_replication"]
        rows.append(row)
    table = pd.DataFrame(rows, columns=SCHEMA.names)
    return table.sort_values(
        ["accuracy_original", "participant"], ascending=[False, True], ignore_index=True
    )


def read_human(
    *, specs: Mapping[str, DatasetSpec], models: Sequence[str],
    predictions: Mapping[str, Sequence[str]], annotations: Path, pair: str,
) -> tuple[pd.DataFrame, dict[str, Correctness], str, Path]:  # fmt: skip
    """Read participants' annotations of a pair, and which images models classify correctly."""
    correctness = {o: dataset_correctness(specs[o], models, predictions[o]) for o in specs}
    return read_annotations(annotations), correctness, pair, annotations


class HumanAccuracySettings(Settings):
    """Pairs whose images participants classified, each with the file of their annotations."""

    pairs: dict[Annotated[Name, Ref("pair", Need.CORRECTNESS)], PathText] = Field(
        {}, description="CSV file of the participants' annotations, by pair"
    )
    without: ModelNames = Field((), description="Models to leave out")


class HumanAccuracy(TableAnalysis):
    """Compare accuracies of participants and models on the images that participants classified."""

    name: ClassVar[str] = "human_accuracy"
    per = "pair"
    read = read_human
    caption: ClassVar[str] = (
        "Accuracies of the participants on both sets of **{{ snakemake.wildcards.pair }}**, "
        "with Clopper-Pearson intervals, and the mean accuracy of the models on the same images."
    )
    Settings: ClassVar[type[HumanAccuracySettings]] = HumanAccuracySettings
    settings: HumanAccuracySettings

    def check(self) -> None:
        """Check that the files of annotations exist and have the columns."""
        super().check()
        for file in self.settings.pairs.values():
            self.check_file(file, self.field("pairs"), COLUMNS)

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of annotations, and of predictions on both sets."""
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        results = [file for d in datasets for file in self.study.results_inputs(d, self.models)]
        return [self.settings.pairs[wildcards.pair], *results]

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_human`."""
        study, datasets = self.study, self.study.pairs[wildcards.pair].datasets
        files = {o: study.probability_files(name, self.models) for o, name in datasets.items()}
        return {
            "specs": {o: asdict(study.datasets[name]) for o, name in datasets.items()},
            "models": self.models, "predictions": files, "pair": wildcards.pair,
            "annotations": self.settings.pairs[wildcards.pair],
        }  # fmt: skip
