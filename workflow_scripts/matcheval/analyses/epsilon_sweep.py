"""Matched gaps of every model for several values of ε, and the plain gap that they approach."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.figures.many_models import draw_curves
from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    UNMATCHED,
    legend_above,
    new_figure,
    set_title,
    style,
)
from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, counted, signed_cells
from matcheval.protocol.compared_models import (
    MATCHED_MODEL,
    MEAN,
    ComparedModels,
    MatchedModel,
    error_of_mean,
    error_of_model,
    std_of_defined,
)
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings
from matcheval.protocol.settings import Criterion, Epsilon, MatchingMethod, Order, matching_label
from matcheval.protocol.words import matching_column
from matcheval.settings import Unique, UniqueItems

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPSILONS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0)

SCHEMA = TableSchema(
    "matched gaps by epsilon",
    (
        *MATCHED_MODEL,
        fraction("gap", "accuracy on the original minus on the replication"),
        fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
        fraction("matched_gap_std", "its standard deviation over seeds (ddof = 1)"),
        fraction("matched_gap_se", "its standard error, given confidences and picks"),
        fraction("matched_gap_low", "lower bound of its 95 % interval"),
        fraction("matched_gap_high", "upper bound of its 95 % interval"),
        fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
        fraction("limit", "mean of the matched gap at epsilon 1; NaN under criterion 1"),
        fraction("limit_std", "its standard deviation over seeds there, by the random picks"),
        Column("reason", pa.string(), "", "why values are NaN; empty if none is"),
    ),
)


def tabulate(known: ComparedModels, *, epsilons: Sequence[float] = EPSILONS) -> pd.DataFrame:
    """Match every model by every method and ε."""
    rows = []
    for name, method in known.methods.items():
        for epsilon in sorted(epsilons):
            changed = method.model_copy(update={"epsilon": epsilon})
            models = [
                MatchedModel.of(comparison, changed, known.seeds, name)
                for comparison in known.comparisons
            ]
            of_models = [_of_model(one, known) for one in models]
            rows += [*of_models, _of_mean(models, of_models, known)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _of_model(one: MatchedModel, known: ComparedModels) -> dict[str, Any]:
    found, comparison = error_of_model(one, known.blocks), one.comparison
    limit, limit_std = limit_at_one(comparison, one.method)
    return {
        **one.identity,
        "gap": float(comparison.original.correct.mean() - comparison.replication.correct.mean()),
        **found.columns, "matched_gap_std": std_of_defined(one.matched_gaps),
        "fraction_unmatched": float(one.fractions_unmatched.mean()),
        "limit": limit, "limit_std": limit_std, "reason": found.reason,
    }  # fmt: skip


def _of_mean(
    models: Sequence[MatchedModel], rows: Sequence[dict[str, Any]], known: ComparedModels
) -> dict[str, Any]:
    """Average over the models with a matched pair; their errors share datapoints."""
    used = [row for row in rows if not np.isnan(row["matched_gap"])] or rows
    columns = ("gap", "fraction_unmatched", "limit")
    means = {name: float(np.mean([row[name] for row in used])) for name in columns}
    found, left_out = error_of_mean(models, known.blocks), len(rows) - len(used)
    reasons = [found.reason] if found.reason else []
    if left_out:
        reasons.append(f"{left_out} models without a matched pair are left out")
    undefined = dict.fromkeys(("matched_gap_std", "limit_std"), float("nan"))
    return {
        **rows[0], "model": MEAN, **undefined, **means, **found.columns,
        "reason": "; ".join(reasons),
    }  # fmt: skip


def limit_at_one(comparison: Comparison, method: MatchingMethod) -> tuple[float, float]:
    """Return what the matched gap is at ε = 1 under criterion 2, where all points are close."""
    if method.criterion is Criterion.LABEL_PROBABILITY:
        return float("nan"), float("nan")
    source, target = comparison.source.correct, comparison.target.correct
    n = min(len(source), len(target))
    sampled = source if len(source) >= len(target) else target
    if len(source) < len(target) and method.order is Order.DATASET:
        target = sampled = target[:n]
    accuracy, size = float(sampled.mean()), len(sampled)
    variance = accuracy * (1 - accuracy) / n * (size - n) / max(size - 1, 1)
    sign = 1 if comparison.source_is_original else -1
    return sign * float(source.mean() - target.mean()), float(np.sqrt(variance))


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out matched gaps with a row per model and matching, and a column per ε."""
    wide = table.pivot_table(
        index=["matching", "model"], columns="epsilon", values="matched_gap", sort=False,
        dropna=False,
    )  # fmt: skip
    first = table.groupby(["matching", "model"], sort=False)[["gap"]].first().loc[wide.index]
    return [
        TextColumn("Model", [model for _, model in wide.index], is_number=False),
        matching_column(matching for matching, _ in wide.index),
        TextColumn("Gap", signed_cells(first["gap"].tolist(), 2)),
        *(
            TextColumn(f"ε = {epsilon:g}", signed_cells(wide[epsilon].tolist(), 2))
            for epsilon in wide.columns
        ),
    ]


_FAINT = 0.25


def plot(table: pd.DataFrame) -> "Figure":
    """Draw matched gaps, and below them the share of unmatched targets, against ε."""
    matchings = table["matching"].unique().tolist()
    with style():
        figure = new_figure(COLUMN_WIDTH * len(matchings), 3.6)
        panels = figure.subplots(
            2, len(matchings), sharex=True, sharey="row", squeeze=False, height_ratios=(2.2, 1)
        )
        for (upper, lower), matching in zip(panels.T, matchings, strict=True):
            of_matching = table[table["matching"] == matching]
            _draw_gaps(upper, of_matching, matching)
            _draw_models(lower, of_matching, "fraction_unmatched", UNMATCHED.color)
            mean = of_matching[of_matching["model"] == MEAN]
            lower.plot(
                mean["epsilon"], 100 * mean["fraction_unmatched"], **UNMATCHED.line_options()
            )
            lower.set_xscale("log")
            lower.xaxis.set_major_formatter("{x:g}")  # without formulas
            lower.set_xlabel("ε")
        panels[0, 0].set_ylabel("Matched gap (points)")
        panels[1, 0].set_ylabel("Unmatched (%)")
        models = counted(_n_models(table), "model")
        set_title(figure, f"{table['pair'].iloc[0]}: matched gap by ε, {models}")
    return figure


def _draw_gaps(axes: "Axes", table: pd.DataFrame, matching: str) -> None:
    _draw_models(axes, table, "matched_gap", MATCHED_GAP.color)
    of_mean = " of the mean" * (_n_models(table) > 1)
    mean = table[table["model"] == MEAN]
    axes.fill_between(
        mean["epsilon"], 100 * mean["matched_gap_low"], 100 * mean["matched_gap_high"],
        color=MATCHED_GAP.color, alpha=_FAINT, linewidth=0, label=f"95 % interval{of_mean}",
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["matched_gap"], color=MATCHED_GAP.color,
        marker=MATCHED_GAP.marker, label="matched gap" + ", mean over models" * bool(of_mean),
    )  # fmt: skip
    axes.plot(
        mean["epsilon"], 100 * mean["gap"], label="gap of all datapoints", linewidth=0.8,
        **GAP.line_options(),
    )  # fmt: skip
    axes.axhline(0, color="#767676", linewidth=0.7, zorder=1)
    legend_above(axes, title=matching_label(matching))


def _n_models(table: pd.DataFrame) -> int:
    return len(set(table["model"]) - {MEAN})


def _draw_models(axes: "Axes", table: pd.DataFrame, column: str, color: str) -> None:
    """Draw a quantity in percent by model; a single model is its own mean."""
    if _n_models(table) > 1:
        of_models = table[table["model"] != MEAN]
        wide = 100 * of_models.pivot_table(column, "model", "epsilon", dropna=False)
        draw_curves(axes, wide.columns.to_numpy(np.float64), wide.to_numpy(np.float64), color)


class EpsilonSweepSettings(PairTableSettings):
    """Pairs that are matched with several values of ε."""

    epsilons: Annotated[tuple[Epsilon, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0),
        description="Largest differences of matched scores, in place of each matching's own",
    )


class EpsilonSweep(PairTableAnalysis):
    """Match every model with several values of ε."""

    name: ClassVar[str] = "epsilon_sweep"
    caption: ClassVar[str] = (
        "Matched gap of every model on **{{ snakemake.wildcards.pair }}** for several values of "
        "ε, and the share of targets without a match. With larger ε the matched gap approaches "
        "the gap of all datapoints, under criterion 2; criterion 1 has no such limit."
    )
    Settings: ClassVar[type[EpsilonSweepSettings]] = EpsilonSweepSettings
    settings: EpsilonSweepSettings
    has_figure: ClassVar[bool] = True

    @property
    def runs_per_seed(self) -> int:
        """A run for each ε."""
        return len(self.settings.epsilons)
