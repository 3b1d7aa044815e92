"""Matched gaps of every model for several values of ε, and the plain gap that they approach."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from matcheval.figures import style
from matcheval.figures.forms import Series, curves, draw_curves, drawing
from matcheval.io.tables import TableSchema, fraction, interval, text
from matcheval.io.text_tables import TextColumn, counted, lay_out, level_text
from matcheval.protocol import compared_models
from matcheval.protocol.analysis import PairTableAnalysis, PairTableSettings
from matcheval.protocol.compared_models import MEAN, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import Criterion, Epsilon, MatchingMethod, Order, matching_label
from matcheval.settings import Unique, UniqueItems
from matcheval.statistics.intervals import LEVEL

EPSILONS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0)


def _text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out the text table: a row per model and matching, with the matched gap for each ε."""
    key = ["matching", "model"]
    wide = table.pivot_table("matched_gap", key, "epsilon", sort=False, dropna=False)
    names = {epsilon: f"matched_{i}" for i, epsilon in enumerate(wide)}
    gaps = table.groupby(key, sort=False)["gap"].first()
    cells = wide.rename(columns=names).assign(gap=gaps.loc[wide.index]).reset_index()
    cells["matching"] = cells["matching"].map(matching_label)
    heads = {f"ε = {epsilon:g}": f"{{{name}:+.2%}}" for epsilon, name in names.items()}
    first = {"Model": "{model}", "Matching": "{matching}", "Gap": "{gap:+.2%}"}
    return lay_out(cells, first | heads)


SCHEMA = TableSchema(
    "matched gaps by epsilon",
    *compared_models.MATCHED_MODEL,
    fraction("gap", "accuracy on the original minus on the replication"),
    fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
    fraction("matched_gap_std", "its standard deviation over seeds (ddof = 1)"),
    fraction("matched_gap_se", "its standard error, given confidences and picks"),
    *interval("matched_gap"),
    fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
    fraction("limit", "mean of the matched gap at epsilon 1; NaN under criterion 1"),
    fraction("limit_std", "its standard deviation over seeds there, by the random picks"),
    text("reason", "why values are NaN; empty if none is"),
    shown=_text_columns,
)


def tabulate(compared: ComparedModels, *, epsilons: Sequence[float] = EPSILONS) -> pd.DataFrame:
    """Match every model by every method with every ε, and tabulate matched gaps and their means."""
    rows = []
    for name, method in compared.methods.items():
        for epsilon in sorted(epsilons):
            changed = method.model_copy(update={"epsilon": epsilon})
            models = [
                MatchedModel.of(comparison, changed, compared.seeds, name)
                for comparison in compared.comparisons
            ]
            model_rows = [_model_row(model, compared) for model in models]
            rows += [*model_rows, _mean_row(models, model_rows, compared)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _model_row(model: MatchedModel, compared: ComparedModels) -> dict[str, Any]:
    """Return the row of one model: its gap, matched gap with error, and the limit of that."""
    estimate = compared_models.error_of_model(model, compared.blocks)
    limit, limit_std = matched_gap_limit(model.comparison, model.method)
    return {
        **model.identity, "gap": model.comparison.gap, **vars(estimate),
        "matched_gap_std": compared_models.std_of_defined(model.matched_gaps),
        "fraction_unmatched": float(model.fractions_unmatched.mean()),
        "limit": limit, "limit_std": limit_std,
    }  # fmt: skip


def _mean_row(
    models: Sequence[MatchedModel], model_rows: Sequence[dict[str, Any]], compared: ComparedModels
) -> dict[str, Any]:
    """Return the row of the mean over models with a matched pair, with its own standard error."""
    used = [row for row in model_rows if not np.isnan(row["matched_gap"])] or model_rows
    columns = ("gap", "fraction_unmatched", "limit")
    means = {name: float(np.mean([row[name] for row in used])) for name in columns}
    estimate = compared_models.error_of_mean(models, compared.blocks)
    n_left_out = len(model_rows) - len(used)
    left_out = f"{n_left_out} models without a matched pair are left out" if n_left_out else ""
    undefined = dict.fromkeys(("matched_gap_std", "limit_std"), float("nan"))
    return {
        **model_rows[0], "model": MEAN, **undefined, **means, **vars(estimate),
        "reason": "; ".join(filter(None, (estimate.reason, left_out))),
    }  # fmt: skip


def matched_gap_limit(comparison: Comparison, method: MatchingMethod) -> tuple[float, float]:
    """Return mean and standard deviation of the matched gap at ε = 1; NaN under criterion 1."""
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


def plot(table: pd.DataFrame, confidence: float = LEVEL) -> "style.Figure":
    """Plot matched gaps, and below them the share of unmatched targets, against ε."""
    matchings = table["matching"].unique().tolist()
    models = len(set(table["model"]) - {MEAN})
    over_models = ", mean over models" if models > 1 else ""
    matched = Series("matched_gap", style.MATCHED_GAP, f"matched gap{over_models}")
    title = f"{table['pair'].iloc[0]}: matched gap by ε, {counted(models, 'model')}"
    note = f"Bands: {level_text(confidence)} intervals{' of the mean' if models > 1 else ''}."
    with drawing(style.COLUMN_WIDTH * len(matchings), 3.6, title, note) as figure:
        axes = figure.subplots(
            2, len(matchings), sharex=True, sharey="row", squeeze=False, height_ratios=(2.2, 1)
        )
        for (upper, lower), matching in zip(axes.T, matchings, strict=True):
            rows = table[table["matching"] == matching]
            mean = rows[rows["model"] == MEAN].set_index("epsilon")
            _draw_models(upper, rows, "matched_gap", style.MATCHED_GAP.color)
            curves(upper, mean, [matched], marker=style.MATCHED_GAP.marker, linestyle="-")
            plain = Series("gap", style.GAP, "gap of all datapoints", "none")
            curves(upper, mean, [plain], linewidth=0.8)
            style.draw_zero(upper)
            style.legend_above(upper, title=matching_label(matching))
            _draw_models(lower, rows, "fraction_unmatched", style.UNMATCHED.color)
            curves(lower, mean, [Series("fraction_unmatched", style.UNMATCHED)])
            lower.set_xscale("log")
            lower.xaxis.set_major_formatter("{x:g}")  # without formulas
            lower.set_xlabel("ε")
        axes[0, 0].set_ylabel("Matched gap (points)")
        axes[1, 0].set_ylabel("Unmatched (%)")
    return figure


def _draw_models(axes: "style.Axes", table: pd.DataFrame, column: str, color: str) -> None:
    """Draw a column in percent against ε, by model; nothing if there is only one, the mean."""
    rows = table[table["model"] != MEAN]
    if len(set(rows["model"])) > 1:
        wide = 100 * rows.pivot_table(column, "model", "epsilon", dropna=False)
        draw_curves(axes, wide.columns.to_numpy(np.float64), wide.to_numpy(np.float64), color)


class EpsilonSweepSettings(PairTableSettings):
    """Pairs that are matched with several values of ε."""

    epsilons: Annotated[tuple[Epsilon, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        EPSILONS, description="Largest differences of matched scores, in place of the matchings'"
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
        """The number of values of ε."""
        return len(self.settings.epsilons)
