"""Tables of follow-ups for reading: one way to print accuracies with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.analyses.shared_errors.tables import by_model
from matcheval.io.text_tables import TextColumn


def accuracy_cells(table: pd.DataFrame, part: str) -> list[str]:
    """Cells like `93.1 [92.0, 94.1]` of columns `accuracy_<part>`, `..._low`, `..._high`.

    Without a part, of `accuracy` and its bounds; without bounds, cells like `93.1`.
    """
    name = f"accuracy_{part}" if part else "accuracy"
    values = zip(table[name], table[f"{name}_low"], table[f"{name}_high"], strict=True)
    return [
        "–"
        if pd.isna(accuracy)
        else f"{100 * accuracy:.1f}"
        + ("" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")
        for accuracy, low, high in values
    ]


def signed_cells(values: Sequence[float], digits: int = 1) -> list[str]:
    """Percentage points with a sign."""
    texts = ["–" if pd.isna(value) else f"{100 * value:+.{digits}f}" for value in values]
    return [text.replace("-", "−") for text in texts]


def duplicates_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `neighbours.schemas.DUPLICATE_ACCURACIES`."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    n = {part: int(table[f"n_{part}"].iloc[0]) for part in ("all", "duplicates", "rest")}
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        TextColumn(f"All {n['all']:,} (%) [{level}]", accuracy_cells(table, "all")),
        TextColumn(f"{n['duplicates']:,} duplicates (%)", accuracy_cells(table, "duplicates")),
        TextColumn(f"Other {n['rest']:,} (%)", accuracy_cells(table, "rest")),
        TextColumn("Change", signed_cells(table["change"].tolist(), 2)),
    ]


def hard_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.HARD_IMAGES`: how many images so many models get right."""
    counts = table.groupby("n_right").size()
    n_models = table["n_models"].iloc[0]
    return [
        TextColumn(f"Right of {n_models} models", [f"{n}" for n in counts.index]),
        TextColumn("Images", [f"{n:,}" for n in counts]),
        TextColumn("Together", [f"{n:,}" for n in counts.cumsum()]),
    ]


def people_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.PEOPLE`, and a last row of means and of who is better where."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    columns = [TextColumn("Participant", [*table["participant"], "mean"], is_number=False)]
    for origin, head in (("original", "Original"), ("replication", "New")):
        mean, models = (table[f"{what}_{origin}"].mean() for what in ("accuracy", "models"))
        columns += [
            TextColumn(
                f"{head} accuracy (%) [{level}]",
                [*accuracy_cells(table, origin), _percent(mean)],
            ),
            TextColumn("Images", [*(f"{n:,}" for n in table[f"n_{origin}"]), ""]),
            TextColumn("Models (%)", [*map(_percent, table[f"models_{origin}"]), _percent(models)]),
        ]
    gaps = table["gap"]
    better = f"{(gaps > 0).sum()} better on the original, {(gaps < 0).sum()} on the new"
    cells = [*signed_cells(gaps.tolist()), f"{signed_cells([gaps.mean()])[0]} ({better})"]
    return [*columns, TextColumn("Gap", cells)]


def balanced_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.BALANCED`."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    by_class = [f"{100 * a:.1f}" for a in table["accuracy_by_class"]]
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        TextColumn(f"All {table['n_all'].iloc[0]:,} (%) [{level}]", accuracy_cells(table, "all")),
        TextColumn(
            f"{table['per_class'].iloc[0]:,} per class (%) [{level}]",
            accuracy_cells(table, "balanced"),
        ),
        TextColumn("Mean over classes (%)", by_class),
    ]


def frequency_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.BY_FREQUENCY`: a column per bin, with the number of datapoints."""
    heads = {
        number: f"{low:g}–{high:g}"
        for number, low, high in zip(
            table["bin"], table["frequency_low"], table["frequency_high"], strict=True
        )
    }
    return _by_part(table, "bin", heads)


def group_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.BY_GROUP`: a column per group, with the number of datapoints."""
    return _by_part(table, "group", {name: name for name in table["group"]})


def shared_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.SHARED_ERRORS`, averaged for each model."""
    models = by_model(table)
    return [
        TextColumn("Model", models["model"].tolist(), is_number=False),
        TextColumn("Accuracy (%)", [f"{100 * a:.1f}" for a in models["accuracy"]]),
        TextColumn("Mean Jaccard index", [_index(j) for j in models["jaccard"]]),
        TextColumn("By chance", [_index(j) for j in models["jaccard_by_chance"]]),
        TextColumn("Most alike", models["nearest"].tolist(), is_number=False),
        TextColumn("Their Jaccard index", [_index(j) for j in models["jaccard_nearest"]]),
    ]


def revisions_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `schemas.REVISIONS`: a column per revision, and the change in all."""
    columns = [TextColumn("Model", [*table["model"].unique(), "mean"], is_number=False)]
    for _, of_set in table.groupby("number"):
        n = of_set["n"].iloc[0]
        cells = accuracy_cells(of_set, "")
        cells.append(f"{100 * of_set['accuracy'].mean():.1f}")
        size = f", n = {n:,}" if n else ""
        columns.append(TextColumn(f"{of_set['dataset'].iloc[0]}{size} (%)", cells))
    change = table.groupby("model", sort=False)["change"].sum()
    return [*columns, TextColumn("Change", signed_cells([*change, change.mean()], 2))]


def _by_part(table: pd.DataFrame, part: str, heads: Mapping[Any, str]) -> list[TextColumn]:
    """A row per model and one for their mean, a column per part of the datapoints."""
    columns = [TextColumn("Model", [*table["model"].unique(), "mean"], is_number=False)]
    for number, of_part in table.groupby(part):
        mean = 100 * of_part[f"accuracy_{part}"].mean()
        cells = [*accuracy_cells(of_part, part), "–" if pd.isna(mean) else f"{mean:.1f}"]
        n = of_part[f"n_{part}"].iloc[0]
        columns.append(TextColumn(f"{heads[number]}, n = {n:,} (%)", cells))
    return columns


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.1f}"


def _index(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"


def difficulty_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Columns of `replication.schemas.DIFFICULTY`."""
    heads = {
        "slope": "u", "offset": "v", "mu_original": "μ original", "sigma_original": "σ original",
        "mu_replication": "μ new", "sigma_replication": "σ new",
    }  # fmt: skip
    numbers = [
        TextColumn(head, [f"{value:.3f}".replace("-", "−") for value in table[name]])
        for name, head in heads.items()
    ]
    return [
        TextColumn("Pair", table["pair"].tolist(), is_number=False),
        *numbers,
        TextColumn("RMS error (points)", [f"{100 * value:.2f}" for value in table["rms_error"]]),
        TextColumn("Models", [f"{n}" for n in table["n_models"]]),
    ]
