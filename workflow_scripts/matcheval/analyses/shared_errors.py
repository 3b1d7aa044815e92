"""Errors that models share: the similarity of the sets of images that they misclassify.

Recht et al. (2019), arXiv 1902.10811, section 5.1.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.figures import style
from matcheval.figures.forms import drawing, heat_map
from matcheval.io.tables import DATASET, MODEL, Column, TableSchema, fraction
from matcheval.predictions.correctness import Correctness
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings


def tabulate(correctness: Correctness, dataset: str, file: str = "") -> pd.DataFrame:
    """Tabulate, for every two models, the datapoints that both misclassify, and a Jaccard index."""
    if len(correctness.models) < 2:
        problem = "shared errors require at least two models, and there is one model"
        raise InputError(problem, file=dataset, field="shared_errors.datasets")
    wrong = (~correctness.right).astype(np.float64)
    n_both, n_wrong, n = wrong @ wrong.T, wrong.sum(axis=1), len(correctness)
    first, second = np.triu_indices(len(correctness.models), k=1)
    a, b, shared = n_wrong[first], n_wrong[second], n_both[first, second]
    names = np.array(correctness.models)
    return pd.DataFrame({
        "model": names[first], "other": names[second], "dataset": dataset, "n": n,
        "n_wrong": a.astype(np.int64), "n_wrong_other": b.astype(np.int64),
        "n_wrong_both": shared.astype(np.int64), "jaccard": _jaccard(a, b, shared),
        "jaccard_by_chance": _jaccard(a, b, a * b / n),
    })[SCHEMA.names]  # fmt: skip


def summarise_by_model(table: pd.DataFrame) -> pd.DataFrame:
    """Return each model's accuracy, mean Jaccard index, and the model with most similar errors."""
    mirrored = {"model": "other", "other": "model", "n_wrong_other": "n_wrong"}
    both_ways = pd.concat([table, table.drop(columns="n_wrong").rename(columns=mirrored)])
    rows = []
    for model, pairs in both_ways.groupby("model", sort=False):
        nearest = pairs.sort_values(["jaccard", "other"], ascending=[False, True]).iloc[0]
        rows.append({
            "model": model, "accuracy": 1 - nearest["n_wrong"] / nearest["n"],
            "jaccard": pairs["jaccard"].mean(),
            "jaccard_by_chance": pairs["jaccard_by_chance"].mean(),
            "nearest": nearest["other"], "jaccard_nearest": nearest["jaccard"],
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values(
        ["accuracy", "model"], ascending=[False, True], ignore_index=True
    )


SCHEMA = TableSchema(
    "shared errors",
    MODEL,
    Column("other", pa.string(), "", "name of the other model"),
    DATASET,
    Column("n", pa.int64(), "datapoints", "size of the dataset"),
    Column("n_wrong", pa.int64(), "datapoints", "misclassified by the model"),
    Column("n_wrong_other", pa.int64(), "datapoints", "misclassified by the other model"),
    Column("n_wrong_both", pa.int64(), "datapoints", "misclassified by both"),
    fraction("jaccard", "n_wrong_both over the number that either misclassifies; NaN if 0"),
    fraction("jaccard_by_chance", "the same, if errors were independent"),
    summary=summarise_by_model,
    shown={
        "Model": "{model}", "Accuracy (%)": "{accuracy:.1%}", "Mean Jaccard index": "{jaccard:.3f}",
        "By chance": "{jaccard_by_chance:.3f}", "Most alike": "{nearest}",
        "Their Jaccard index": "{jaccard_nearest:.3f}",
    },
)  # fmt: skip


def _jaccard(
    n_first: npt.NDArray[np.float64], n_second: npt.NDArray[np.float64],
    n_both: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Compute the Jaccard index of two sets from their sizes; NaN if both are empty."""
    n_either = n_first + n_second - n_both
    return np.divide(n_both, n_either, out=np.full_like(n_either, np.nan), where=n_either > 0)


MOST_NAMED = 40  # models that fit on the axes with their names
_ROW, _LEAST, _MOST = 0.13, 1.2, 4.0  # inches: of a model's row, and of the matrix
_AROUND, _CHARACTER = 1.1, 0.05  # inches: colour bar and title; a character of a name


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot the matrix of the Jaccard indices of every two models' errors."""
    models = summarise_by_model(table)["model"].tolist()
    at = {model: i for i, model in enumerate(models)}
    matrix = np.full((len(models), len(models)), np.nan)
    first, second = table["model"].map(at), table["other"].map(at)
    matrix[first, second] = matrix[second, first] = table["jaccard"]
    is_named = len(models) <= MOST_NAMED
    names = [f"{style.shortened(model)}  {rank}" for rank, model in enumerate(models, 1)]
    step = 1 + len(models) // 20
    ranks = ["" if i % step else str(i + 1) for i in range(len(models))]
    side = float(np.clip(_ROW * len(models), _LEAST, _MOST))
    name_width = _CHARACTER * max(map(len, names)) if is_named else 0.6
    width = max(side + name_width + _AROUND, style.COLUMN_WIDTH)
    title = f"{table['dataset'].iloc[0]}: {len(models)} models, most accurate first"
    mean, chance = table["jaccard"].mean(), table["jaccard_by_chance"].mean()
    note = f"Mean over pairs of models {mean:.2f}, by chance {chance:.2f}."
    with drawing(width, side + _AROUND, title, note) as figure:
        axes = figure.add_subplot()
        rows = names if is_named else ranks
        heat_map(axes, matrix, rows, ranks, "Jaccard index of the errors")
        axes.set(aspect="equal", xlabel="Rank of the model")
        if not is_named:
            axes.set_ylabel("Rank of the model")
    return figure


class SharedErrors(DatasetTableAnalysis):
    """Compare which datapoints every two models misclassify."""

    name: ClassVar[str] = "shared_errors"
    caption: ClassVar[str] = (
        "Similarity of the models' errors on **{{ snakemake.wildcards.dataset }}**: the number "
        "of images that two models both misclassify, divided by the number that at least one of "
        "them misclassifies (Jaccard index), and its value if errors were independent."
    )
    Settings: ClassVar[type[DatasetTableSettings]] = DatasetTableSettings
    has_figure: ClassVar[bool] = True
