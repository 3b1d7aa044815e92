"""Further tables for human readers: gaps, rankings of methods, numbers of images, methods."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.reading import DASH, how, place_name, titles
from matcheval.accuracy_prediction.scores.registry import AnyScore
from matcheval.accuracy_prediction.scores.score import Need, Predicts
from matcheval.io.text_tables import TextColumn, signed

MAX_PAIRS = 200  # with more, pairs of subgroups are left to the files for programs

_PREDICTS = {
    Predicts.ACCURACY: "the accuracy itself",
    Predicts.GAP: "the gap, by a regression",
    Predicts.BY_REGRESSION: "the accuracy, by a regression",
}
_NEEDS = {
    Need.BASE_LABELS: "labels of the base",
    Need.PROBABILITIES: "probabilities of all classes",
    Need.GRAM: "probabilities of all classes, or their statistics",
    Need.LOGITS: "logits",
    Need.FEATURES: "features",
    Need.STATISTICS: "features, or their statistics",
    Need.REFERENCE: "a reference set",
    Need.MODELS: "predictions of three models or more",
    Need.IMAGES: "a pass over turned images",
}
_DIRECTIONS = {1: "rises", -1: "falls", 0: "not used"}


def gap_columns(table: pd.DataFrame, uncounted: Sequence[str] = ()) -> list[TextColumn]:
    """Format mean gaps: a row per model, a column per group of sets (P1, Table 1)."""
    gaps = table.pivot_table(index="model", columns="group", values="gap", sort=False)
    groups = [*(g for g in dict.fromkeys(table["group"]) if g != ALL), ALL]
    means = gaps[~gaps.index.isin(uncounted)].mean()
    columns = [TextColumn("Model", [*gaps.index, "mean of models"], is_number=False)]
    for group in groups:
        values = [*gaps[group], means[group]]
        head = "All (points)" if group == ALL else group or "no group"
        columns.append(
            TextColumn(head, [DASH if np.isnan(v) else signed(100 * v, 2) for v in values])
        )
    return columns


def ranking_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how methods rank on two groups of sets: a row per pair."""
    if len(table) > MAX_PAIRS:
        table = table[(table["subgroup_1"] == ALL) & (table["subgroup_2"] == ALL)]
    rows = table.to_dict("records")
    return [
        TextColumn("How", [how(row) for row in rows], is_number=False),
        *(
            TextColumn(
                head,
                [place_name(row[f"group_{i}"], row[f"subgroup_{i}"]) for row in rows],
                is_number=False,
            )
            for i, head in ((1, "First sets"), (2, "Second sets"))
        ),
        TextColumn("Methods", [str(row["n_methods"]) for row in rows]),
        *_coefficients(table),
    ]


def count_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors go with numbers of images: a row per group."""
    rows = table.to_dict("records")
    groups = ["All" if row["group"] == ALL else row["group"] or "no group" for row in rows]
    return [
        TextColumn("How", [how(row) for row in rows], is_number=False),
        TextColumn("Group", groups, is_number=False),
        TextColumn("Subgroups", [str(row["n_subgroups"]) for row in rows]),
        TextColumn("Images", [f"{row['n_images']:,}" for row in rows]),
        *_coefficients(table),
    ]


def method_columns(known: Mapping[str, AnyScore]) -> list[TextColumn]:
    """Describe methods: what each is computed from, and what it predicts (P1, Table 3)."""
    scores = list(known.values())
    texts = {
        "Method": titles(
            pd.DataFrame([(s.method, s.variant) for s in scores], columns=["method", "variant"]),
            known,
        ),
        "Name in settings": [f"`{name}`" for name in known],
        "Needs": [
            ", ".join(_NEEDS[need] for need in score.needs) or "predicted classes' probabilities"
            for score in scores
        ],
        "Predicts": [_PREDICTS[score.predicts] for score in scores],
        "With accuracy": [_DIRECTIONS[score.direction] for score in scores],
        "Source": [score.source for score in scores],
    }
    return [TextColumn(head, cells, is_number=False) for head, cells in texts.items()]


def _coefficients(table: pd.DataFrame) -> list[TextColumn]:
    return [
        TextColumn(head, [DASH if np.isnan(v) else signed(v, 2) for v in table[name]])
        for name, head in (("spearman", "Spearman ρ"), ("kendall", "Kendall τ-b"))
    ]
