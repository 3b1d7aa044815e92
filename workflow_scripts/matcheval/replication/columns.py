"""Readable columns of the replication tables: accuracies in percent, rounded for print."""

import math

import pandas as pd

from matcheval.io.text_tables import TextColumn, accuracy_cells, outward, signed
from matcheval.statistics.lines import FEW_FAMILIES, Scale


def results_columns(results: pd.DataFrame) -> list[TextColumn]:
    """Format the columns of a replication table, with accuracies in percent."""
    level = f"{100 * results['confidence'].iloc[0]:g} % CI"
    return [
        TextColumn("Original rank", [f"{r}" for r in results["original_rank"]]),
        TextColumn("Model", results["model"].tolist(), is_number=False),
        TextColumn(f"Original accuracy (%) [{level}]", accuracy_cells(results, "original")),
        TextColumn(f"New accuracy (%) [{level}]", accuracy_cells(results, "replication")),
        TextColumn(f"Gap [{level}]", _gaps(results)),
        TextColumn("Of it random", _ranges(results, "random_gap")),
        TextColumn("Rest of it", _ranges(results, "rest_gap")),
        TextColumn("New rank", [f"{r}" for r in results["replication_rank"]]),
        TextColumn("Δ rank", [signed(r, 0) for r in results["delta_rank"]]),
    ]


def fits_columns(fits: pd.DataFrame) -> list[TextColumn]:
    """Format the columns of a table of fits."""
    level = f"{100 * fits['confidence'].iloc[0]:g} % CI"
    scales = [Scale(scale) for scale in fits["scale"]]
    return [
        TextColumn("Fit", [scale.value for scale in scales], is_number=False),
        TextColumn(f"Slope [{level}]", _estimates(fits, "slope")),
        TextColumn(f"Offset [{level}]", _estimates(fits, "offset")),
        TextColumn("R²", [f"{r:.3f}" for r in fits["r_squared"]]),
        TextColumn("Residual SD", [f"{sd:.3g}" for sd in fits["residual_sd"]]),
        TextColumn(f"Slope over families [{level}]", _of_families(fits)),
        TextColumn("Slopes ≤ 1", [f"{100 * part:.3g} %" for part in fits["slopes_at_most_1"]]),
        TextColumn("Models", [f"{n}" for n in fits["n_models"]]),
        TextColumn("Left out", [name or "–" for name in fits["left_out"]], is_number=False),
        TextColumn("At 0 or 1", _extremes(fits), is_number=False),
        TextColumn("Resamples", [f"{n:,}" for n in fits["resamples"]]),
        TextColumn("Seed", [f"{seed}" for seed in fits["seed"]]),
    ]


def changes_columns(changes: pd.DataFrame) -> list[TextColumn]:
    """Format the columns of a table of average changes, with accuracies in percent."""
    return [
        TextColumn("Pair", changes["pair"].tolist(), is_number=False),
        TextColumn("Top", [f"{top}" for top in changes["top"]]),
        TextColumn("Models", [f"{n}" for n in changes["n_models"]]),
        TextColumn(
            "Mean original accuracy (%)", [f"{100 * a:.1f}" for a in changes["accuracy_original"]]
        ),
        TextColumn(
            "Mean new accuracy (%)", [f"{100 * a:.1f}" for a in changes["accuracy_replication"]]
        ),
        TextColumn("Average change", [signed(100 * c, 1, plus=True) for c in changes["change"]]),
        TextColumn("Spread of changes", [f"{100 * s:.1f}" for s in changes["spread"]]),
        TextColumn("Range of models", [f"{100 * r:.1f}" for r in changes["range_original"]]),
        TextColumn(
            "Selection frequency",
            ["–" if math.isnan(f) else f"{f:.2f}" for f in changes["selection_frequency"]],
        ),
        TextColumn("Smallest |z|", [signed(z, 2) for z in changes["least_z"]]),
        TextColumn("Differ", [f"{n}" for n in changes["n_significant"]]),
        TextColumn("Spearman's ρ", [signed(r, 3) for r in changes["spearman"]]),
        TextColumn("Kendall's τ", [signed(r, 3) for r in changes["kendall"]]),
    ]


def _gaps(results: pd.DataFrame) -> list[str]:
    """Format gaps in percentage points with their intervals, where there are such."""
    bounds = 100 * results[["gap", "gap_low", "gap_high"]].to_numpy(dtype=float)
    return [
        signed(gap, 1) + ("" if math.isnan(low) else f" [{signed(low, 1)}, {signed(high, 1)}]")
        for gap, low, high in bounds
    ]


def _ranges(results: pd.DataFrame, part: str) -> list[str]:
    """Format bounds in percentage points, rounded outward; a dash stands for unknown bounds."""
    bounds = 100 * results[[f"{part}_low", f"{part}_high"]].to_numpy(dtype=float)
    return [
        "–" if math.isnan(low) else f"[{', '.join(outward(low, high, 1))}]" for low, high in bounds
    ]


def _estimates(fits: pd.DataFrame, name: str) -> list[str]:
    values = fits[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float)
    return [f"{signed(v, 2)} [{', '.join(outward(low, high, 2))}]" for v, low, high in values]


def _of_families(fits: pd.DataFrame) -> list[str]:
    """Intervals of the slope by the bootstrap over families, with their number; or a dash."""
    return [
        f"[{', '.join(outward(low, high, 2))}] ({n} families{', few' * (n < FEW_FAMILIES)})"
        if n > 1
        else "–"
        for low, high, n in zip(
            fits["family_slope_low"], fits["family_slope_high"], fits["n_families"], strict=True
        )
    ]


def _extremes(fits: pd.DataFrame) -> list[str]:
    treatments = {"leave_out": "left out", "clip": "clipped"}
    pairs = zip(fits["extreme"], fits["extremes"], strict=True)
    return [f"{names} ({treatments[treatment]})" if names else "–" for names, treatment in pairs]
