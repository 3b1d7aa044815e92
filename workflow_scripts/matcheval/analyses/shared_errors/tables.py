"""Errors that models share: how alike the sets of images are that they get wrong.

Recht et al. (2019), arXiv 1902.10811, section 5.1: models make similar errors, so that their
accuracies on one sample of images are less independent than their number suggests.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.columns import DATASET, MODEL, fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.correctness import Correctness

SCHEMA = TableSchema(
    "errors that models share",
    (
        MODEL,
        Column("other", pa.string(), "", "name of another model"),
        DATASET,
        Column("n", pa.int64(), "datapoints", "size of the dataset"),
        Column("n_wrong", pa.int64(), "datapoints", "that the model gets wrong"),
        Column("n_wrong_other", pa.int64(), "datapoints", "that the other one gets wrong"),
        Column("n_wrong_both", pa.int64(), "datapoints", "that both get wrong"),
        fraction("jaccard", "wrong by both, of those wrong by either; NaN if neither errs"),
        fraction("jaccard_by_chance", "the same, were errors independent"),
    ),
)


def shared_errors(known: Correctness, dataset: str) -> pd.DataFrame:
    """Compare the errors of every two models.

    Parameters
    ----------
    known : Correctness
        Of at least two models.
    dataset : str
        Its name.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, a row per unordered pair, in the order of the models.
        The Jaccard index is the number of images that both get wrong over the number that either
        does; NaN if neither errs. By chance it would be that of errors of the same numbers that
        fall on images independently.

    Raises
    ------
    InputError
        If there are fewer than two models.
    """
    if len(known.models) < 2:
        raise InputError("one model shares errors with none", field="followups.shared_errors")
    wrong = (~known.right).astype(np.float64)
    both, n_wrong, n = wrong @ wrong.T, wrong.sum(axis=1), len(known)
    first, second = np.triu_indices(len(known.models), k=1)
    a, b, shared = n_wrong[first], n_wrong[second], both[first, second]
    names = np.array(known.models)
    return pd.DataFrame(
        {
            "model": names[first],
            "other": names[second],
            "dataset": dataset,
            "n": n,
            "n_wrong": a.astype(np.int64),
            "n_wrong_other": b.astype(np.int64),
            "n_wrong_both": shared.astype(np.int64),
            "jaccard": _jaccard(a, b, shared),
            "jaccard_by_chance": _jaccard(a, b, a * b / n),
        }
    )[SCHEMA.names]


def by_model(table: pd.DataFrame) -> pd.DataFrame:
    """Average a table of shared errors for each model.

    Returns
    -------
    pandas.DataFrame
        By falling accuracy: `model`, `accuracy`, `jaccard` and `jaccard_by_chance` (means over the
        other models), `nearest` (the model whose errors are most alike) and `jaccard_nearest`.
    """
    mirrored = table.rename(
        columns={
            "model": "other", "other": "model", "n_wrong": "n_wrong_other",
            "n_wrong_other": "n_wrong",
        }
    )  # fmt: skip
    both = pd.concat([table, mirrored])
    rows = []
    for model, of_model in both.groupby("model", sort=False):
        nearest = of_model.sort_values(["jaccard", "other"], ascending=[False, True]).iloc[0]
        rows.append(
            {
                "model": model,
                "accuracy": 1 - of_model["n_wrong"].iloc[0] / of_model["n"].iloc[0],
                "jaccard": of_model["jaccard"].mean(),
                "jaccard_by_chance": of_model["jaccard_by_chance"].mean(),
                "nearest": nearest["other"],
                "jaccard_nearest": nearest["jaccard"],
            }
        )
    return pd.DataFrame(rows).sort_values(
        ["accuracy", "model"], ascending=[False, True], ignore_index=True
    )


def _jaccard(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], both: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    union = a + b - both
    return np.divide(both, union, out=np.full_like(union, np.nan), where=union > 0)


def tabulate(known: Correctness, dataset: str, file: str = "") -> pd.DataFrame:
    """Make the table of one dataset.

    Parameters
    ----------
    known : Correctness
        Which datapoints each model classifies correctly.
    dataset : str
        Name of the dataset.
    file : str
        Not used.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`.

    Raises
    ------
    InputError
        If there are fewer than two models.
    """
    return shared_errors(known, dataset)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `SCHEMA`, averaged for each model."""
    models = by_model(table)
    return [
        TextColumn("Model", models["model"].tolist(), is_number=False),
        TextColumn("Accuracy (%)", [f"{100 * a:.1f}" for a in models["accuracy"]]),
        TextColumn("Mean Jaccard index", [_index(j) for j in models["jaccard"]]),
        TextColumn("By chance", [_index(j) for j in models["jaccard_by_chance"]]),
        TextColumn("Most alike", models["nearest"].tolist(), is_number=False),
        TextColumn("Their Jaccard index", [_index(j) for j in models["jaccard_nearest"]]),
    ]


def _index(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"
