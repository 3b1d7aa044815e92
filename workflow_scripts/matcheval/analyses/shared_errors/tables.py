"""Errors that models share: the similarity of the sets of images that they misclassify.

Recht et al. (2019), arXiv 1902.10811, section 5.1: models make similar errors, so that their
accuracies on one sample of images are less independent than their number suggests.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import DATASET, MODEL, Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.correctness import Correctness

SCHEMA = TableSchema(
    "shared errors",
    (
        MODEL,
        Column("other", pa.string(), "", "name of the other model"),
        DATASET,
        Column("n", pa.int64(), "datapoints", "size of the dataset"),
        Column("n_wrong", pa.int64(), "datapoints", "misclassified by the model"),
        Column("n_wrong_other", pa.int64(), "datapoints", "misclassified by the other model"),
        Column("n_wrong_both", pa.int64(), "datapoints", "misclassified by both"),
        fraction("jaccard", "n_wrong_both over the number that either misclassifies; NaN if 0"),
        fraction("jaccard_by_chance", "the same, if errors were independent"),
    ),
)


def tabulate(known: Correctness, dataset: str, file: str = "") -> pd.DataFrame:
    """Compare the errors of every two models."""
    if len(known.models) < 2:
        raise InputError(
            "shared errors require at least two models, and there is one model",
            file=dataset,
            field="shared_errors.datasets",
        )
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
    """Average shared errors over the other models, for each model."""
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


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the averages of `by_model` for a readable table."""
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
