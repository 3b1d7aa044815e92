"""The table for readers of how well scores predict accuracies on target sets."""

from collections.abc import Callable

import pandas as pd

from matcheval.accuracy_prediction.tables import titles
from matcheval.domain_generalization.layout import TITLES, selection_names
from matcheval.domain_generalization.selection import PER_RUN
from matcheval.domain_generalization.settings import ERM
from matcheval.io.text_tables import TextColumn, signed, signed_cells


def predictability_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out how well scores predict accuracies on target sets (Sun et al. 2024, Figure 5B)."""
    rows = table[~table["selection"].str.endswith(PER_RUN)]
    level = f"{100 * rows['confidence'].iloc[0]:g} % CI" if len(rows) else "CI"
    is_erm = rows["algorithm"] == ERM
    differences = _with_interval(rows, "mae_gain", lambda v: signed_cells([v], 2)[0])
    return [
        TextColumn("Block", rows["block"].tolist(), is_number=False),
        TextColumn("Selection", selection_names(rows), is_number=False),
        TextColumn("Algorithm", [TITLES[name] for name in rows["algorithm"]], is_number=False),
        TextColumn("Method", titles(rows), is_number=False),
        TextColumn("Sets", [str(n) for n in rows["n_sets"]]),
        TextColumn("Runs", [str(n) for n in rows["n_runs"]]),
        TextColumn(
            f"Spearman ρ [{level}]", _with_interval(rows, "spearman", lambda v: signed(v, 2))
        ),
        TextColumn(
            f"Error, each set left out (points) [{level}]",
            _with_interval(rows, "mae", lambda v: f"{100 * v:.2f}"),
        ),
        TextColumn(
            f"Error minus ERM's (points) [{level}]",
            ["" if erm else cell for erm, cell in zip(is_erm, differences, strict=True)],
        ),
    ]


def _with_interval(rows: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    """Format values with the bounds of their intervals, where there are any."""
    values = rows[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False, name=None)
    return [
        "–"
        if pd.isna(value)
        else form(value) + ("" if pd.isna(low) else f" [{form(low)}, {form(high)}]")
        for value, low, high in values
    ]
