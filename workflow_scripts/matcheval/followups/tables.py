"""Tables of follow-ups for reading: one way to print accuracies with intervals."""

from collections.abc import Sequence

import pandas as pd

from matcheval.replication.rendering import TextColumn


def accuracy_cells(table: pd.DataFrame, part: str) -> list[str]:
    """Cells like `93.1 [92.0, 94.1]` of columns `accuracy_<part>`, `..._low`, `..._high`."""
    values = zip(
        table[f"accuracy_{part}"], table[f"accuracy_{part}_low"], table[f"accuracy_{part}_high"],
        strict=True,
    )  # fmt: skip
    return [
        "–" if pd.isna(accuracy) else f"{100 * accuracy:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
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
    """Columns of `schemas.PEOPLE`."""
    level = f"{100 * table['confidence'].iloc[0]:g} % CI"
    columns = [TextColumn("Participant", table["participant"].tolist(), is_number=False)]
    for origin, head in (("original", "Original"), ("replication", "New")):
        columns += [
            TextColumn(f"{head} accuracy (%) [{level}]", accuracy_cells(table, origin)),
            TextColumn("Images", [f"{n:,}" for n in table[f"n_{origin}"]]),
            TextColumn(
                "Models (%)",
                ["–" if pd.isna(a) else f"{100 * a:.1f}" for a in table[f"models_{origin}"]],
            ),
        ]
    return [*columns, TextColumn("Gap", signed_cells(table["gap"].tolist()))]


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
    columns = [TextColumn("Model", table["model"].unique().tolist(), is_number=False)]
    for _, of_bin in table.groupby("bin"):
        first = of_bin.iloc[0]
        head = f"{first['frequency_low']:g}–{first['frequency_high']:g}, n = {first['n_bin']:,} (%)"
        columns.append(TextColumn(head, accuracy_cells(of_bin, "bin")))
    return columns


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
