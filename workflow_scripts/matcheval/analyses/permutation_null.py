"""Gap, matched gap and unmatched share of every model beside their null distributions."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.figures import style
from matcheval.figures.many_models import point_options
from matcheval.io.tables import Column, TableSchema, fraction, text
from matcheval.io.text_tables import TextColumn, counted
from matcheval.protocol.blocks import Blocks, datapoints
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels, error_of_model
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import UNMATCHED, DividedPlans, match, named_sequence
from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings, lay_out_matched
from matcheval.protocol.settings import MatchingMethod, matching_label
from matcheval.settings import Count, Seed
from matcheval.statistics.intervals import LEVEL, percent, percentiles

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arrangements:
    """Divisions of the pooled datapoints, source rows first, into a source and a target."""

    n_source: int
    n_target: int
    blocks: Blocks | None
    n_permutations: int

    @property
    def n_possible(self) -> float:
        """Number of divisions of blocks; infinite for datapoints, where it is astronomical."""
        blocks = self.blocks
        if blocks is None:
            return math.inf
        if blocks.joint:
            return float(2**blocks.n)
        return math.comb(blocks.n_source + blocks.n_target, blocks.n_source)

    @property
    def is_exact(self) -> bool:
        """Whether all divisions are listed."""
        return self.n_possible <= self.n_permutations + 1

    @property
    def n(self) -> int:
        """Number of divisions, the observed one included."""
        return int(min(self.n_possible, self.n_permutations + 1))

    def smallest_p(self, *, mirrored: bool) -> float:
        """Return the smallest p-value that can occur."""
        blocks = self.blocks
        has_mirror = blocks is not None and (blocks.joint or blocks.n_source == blocks.n_target)
        return (2 if self.is_exact and mirrored and has_mirror else 1) / self.n

    def draw(self, generator: np.random.Generator) -> Iterator[Booleans]:
        """Go through the divisions, the observed one first."""
        observed = np.arange(self.n_source + self.n_target) < self.n_source
        yield observed
        blocks = self.blocks or datapoints(self.n_source, self.n_target)
        choices = _all(blocks) if self.is_exact else _some(blocks, self.n_permutations, generator)
        if blocks.joint:
            block = np.concatenate([blocks.source, blocks.target])
            yield from (observed ^ exchanged[block] for exchanged in choices)
        else:
            block = np.concatenate([blocks.source, blocks.n_source + blocks.target])
            yield from (in_source[block] for in_source in choices)


def _all(blocks: Blocks) -> Iterator[Booleans]:
    """All choices but the observed one: exchanged blocks, or groups in the source."""
    if blocks.joint:
        each = itertools.product((False, True), repeat=blocks.n)
        yield from map(np.array, itertools.islice(each, 1, None))
        return
    groups = range(blocks.n_source + blocks.n_target)
    for chosen in itertools.islice(itertools.combinations(groups, blocks.n_source), 1, None):
        yield np.isin(groups, chosen)


def _some(blocks: Blocks, n: int, generator: np.random.Generator) -> Iterator[Booleans]:
    """Random choices, like those of `_all`."""
    in_source = np.arange(blocks.n_source + blocks.n_target) < blocks.n_source
    for _ in range(n):
        if blocks.joint:
            yield generator.random(blocks.n) < 1 / 2
        else:
            yield generator.permutation(in_source)


_TOLERANCE = 1e-12

Floats = npt.NDArray[np.float64]


class Statistic(StrEnum):
    """What is compared with its null distribution; the first two are two-sided."""

    GAP = "gap"
    MATCHED_GAP = "matched_gap"
    UNMATCHED = "fraction_unmatched"


_OF_MATCHINGS = (Statistic.MATCHED_GAP, Statistic.UNMATCHED)


def permuted_statistics(
    comparison: Comparison,
    methods: Mapping[str, MatchingMethod],
    arrangements: Arrangements,
    seed: int,
) -> dict[tuple[Statistic, str], Floats]:
    """Compute the statistics of one model for every division of the datapoints."""
    source, target, pair = comparison.source, comparison.target, comparison.pair.name
    correct = np.concatenate([source.correct, target.correct]).astype(np.float64)
    sign = 1 if comparison.source_is_original else -1
    generator = np.random.default_rng(named_sequence(pair, "divisions", child=seed))
    plans, picks = {}, {}
    for name, one in methods.items():
        plans[name] = DividedPlans(source, target, one)
        names = (pair, "divisions", one.criterion.value, comparison.model)
        picks[name] = np.random.default_rng(named_sequence(*names, child=seed))
    kinds = [(Statistic.GAP, ""), *itertools.product(_OF_MATCHINGS, methods)]
    found = {kind: np.full(arrangements.n, np.nan) for kind in kinds}
    for i, in_source in enumerate(arrangements.draw(generator)):
        order = generator.permutation(len(in_source))
        sources, targets = (order[is_in[order]] for is_in in (in_source, ~in_source))
        if not len(sources) or not len(targets):
            continue
        found[Statistic.GAP, ""][i] = sign * (correct[sources].mean() - correct[targets].mean())
        for name, plan in plans.items():
            row = match(plan.plan(sources, targets), picks[name])
            hit = row != UNMATCHED
            found[Statistic.UNMATCHED, name][i] = 1 - hit.mean()
            if hit.any():
                difference = correct[sources[row[hit]]].mean() - correct[targets[hit]].mean()
                found[Statistic.MATCHED_GAP, name][i] = sign * difference
    return found


def summarise(
    values: Floats, statistic: Statistic, arrangements: Arrangements, level: float = LEVEL
) -> dict[str, float | int | bool]:
    """Compare the observed value, the first, with the null distribution; by name of column."""
    extremes = values if statistic is Statistic.UNMATCHED else np.abs(values)
    as_extreme = ~(extremes < extremes[0] - _TOLERANCE)
    null = values if arrangements.is_exact else values[1:]
    null, nan = null[~np.isnan(null)], float("nan")
    null = null if len(null) else np.array([nan])
    low, high = np.percentile(null, percentiles(level)).tolist()
    return {
        "observed": float(values[0]),
        "null_mean": float(null.mean()),
        "null_std": float(null.std(ddof=1)) if len(null) > 1 else nan,
        "null_low": low, "null_high": high,
        "null_least": float(null.min()), "null_most": float(null.max()),
        "p": nan if np.isnan(values[0]) else float(as_extreme.mean()),
        "smallest_p": arrangements.smallest_p(mirrored=statistic is Statistic.GAP),
        "n_divisions": len(values), "n_undefined": int(np.isnan(values).sum()),
        "exact": arrangements.is_exact,
    }  # fmt: skip


# No test at 5 % is possible where p cannot be smaller.
_LEVEL = 0.05
_NO_TEST = "no test: of {} divisions of the groups, p cannot be below 5 %"

SCHEMA = TableSchema(
    "null distributions",
    (
        *MATCHED_MODEL,
        text("statistic", "gap, matched_gap or fraction_unmatched"),
        fraction("mean_over_seeds", "of the real sets in dataset order, as in other tables"),
        fraction("mean_low", "lower bound of its 95 % interval; of matched gaps that have one"),
        fraction("mean_high", "upper bound of its 95 % interval"),
        fraction("observed", "of the real sets as they enter the comparison: one run"),
        fraction("null_mean", "mean of the null distribution"),
        fraction("null_std", "its standard deviation (ddof = 1)"),
        fraction("null_low", "its percentile 2.5"),
        fraction("null_high", "its percentile 97.5"),
        fraction("null_least", "its least value"),
        fraction("null_most", "its greatest value"),
        fraction("p", "share of divisions at least as extreme; NaN if there is no test"),
        fraction("smallest_p", "the smallest p that can occur"),
        Column("n_divisions", pa.int64(), "1", "divisions, the observed one included"),
        Column("n_undefined", pa.int64(), "1", "of them, those without a matched pair"),
        Column("exact", pa.bool_(), "", "whether all possible divisions are listed"),
        text("reason", "why p is NaN; empty if it is not"),
    ),
)


def tabulate(compared: ComparedModels, *, permutations: int = 999, seed: int = 0) -> pd.DataFrame:
    """Compare every model's gaps with those of random divisions of its datapoints."""
    first = compared.comparisons[0]
    arrangements = Arrangements(len(first.source), len(first.target), compared.blocks, permutations)
    shown: dict[tuple[str, Statistic, str], dict[str, Any]] = {}
    for one in compared.matched():
        model, error = one.comparison.model, error_of_model(one, compared.blocks)
        shown[model, Statistic.GAP, ""] = one.identity | {
            "matching": "", "criterion": "", "epsilon": float("nan"),
            "mean_over_seeds": one.comparison.gap,
        }  # fmt: skip
        shown[model, Statistic.MATCHED_GAP, one.name] = one.identity | {
            "mean_over_seeds": error.matched_gap,
            "mean_low": error.matched_gap_low,
            "mean_high": error.matched_gap_high,
        }
        unmatched = float(one.fractions_unmatched.mean())
        shown[model, Statistic.UNMATCHED, one.name] = one.identity | {"mean_over_seeds": unmatched}
    rows = []
    for comparison in compared.comparisons:
        found = permuted_statistics(comparison, compared.methods, arrangements, seed)
        for (statistic, matching), values in found.items():
            row = shown[comparison.model, statistic, matching] | summarise(
                values, statistic, arrangements, compared.pair.confidence
            )
            row |= {"statistic": statistic.value, "reason": ""}
            if np.isnan(row["observed"]):
                row["reason"] = "the observed value is undefined: no target was matched"
            elif row["exact"] and row["smallest_p"] > _LEVEL:
                row |= {"p": float("nan"), "reason": _NO_TEST.format(row["n_divisions"])}
            rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame, confidence: float = LEVEL) -> list[TextColumn]:
    """Format observed values and null distributions for a readable table."""
    p = [reason or f"{p:.3g}" for p, reason in zip(table["p"], table["reason"], strict=True)]
    statistics = table["statistic"].str.replace("_", " ")
    return lay_out_matched(table.assign(statistic=statistics, p=p), {
        "Model": "{model}", "Matching": "{matching}", "Of": "{statistic}",
        "Mean over seeds": "{mean_over_seeds:+.2%}", "One run": "{observed:+.2%}",
        "Null mean": "{null_mean:+.2%}",
        f"{percent(confidence)} of the null": "{null_low:+.2%} to {null_high:+.2%}", "p": "{p:s}",
    })  # fmt: skip


_ROW, _MARGIN = 0.14, 1.6  # inches: of a named model, and around the rows
_MOST_NAMED = 50  # models; more are drawn by rank, on a page
_HEIGHT = 4.5  # inches: of the rows of more models
_PANEL, _CHARACTER = 1.0, 0.046  # inches: of a panel, and of a character of a name
_LABELS = {
    "gap": "Gap\n(points)",
    "matched_gap": "Matched gap\n(points)",
    "fraction_unmatched": "Unmatched\n(%)",
}


def plot(table: pd.DataFrame, confidence: float = LEVEL) -> "style.Figure":
    """Draw observed values over their null distributions."""
    panels = table[["statistic", "matching"]].drop_duplicates()
    gaps = table[table["statistic"] == "gap"].set_index("model")["mean_over_seeds"]
    models = gaps.sort_values(kind="stable").index.tolist()
    is_named = len(models) <= _MOST_NAMED
    names = [style.shortened(model) for model in models]
    rows_height = _ROW * len(models) if is_named else _HEIGHT
    bar = 0.6 * 72 * rows_height / len(models)  # points: the bars of the rows leave gaps
    width = _PANEL * len(panels) + (0.2 + _CHARACTER * max(map(len, names)) if is_named else 0.5)
    from matplotlib.ticker import MaxNLocator

    with style.style():
        figure = style.new_figure(max(width, style.COLUMN_WIDTH), _MARGIN + rows_height)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, (_, key) in zip(axes, panels.iterrows(), strict=True):
            chosen = (table[["statistic", "matching"]] == key).all(axis=1)
            rows = table[chosen].set_index("model").loc[models]
            _draw(panel, rows, min(bar, 4.0), percent(confidence))
            panel.set_xlabel(_LABELS[str(key["statistic"])])
            panel.xaxis.set_major_locator(MaxNLocator(3))
            title = style.shortened(matching_label(str(key["matching"])), 20) or "all datapoints"
            panel.set_title(title, fontsize=style.NOTE_SIZE)
        if is_named:
            axes[0].set_yticks(range(len(models)), names, fontsize=style.NOTE_SIZE)
        else:
            axes[0].set_ylabel("Model, by increasing gap")
        axes[0].set_ylim(len(models) - 0.5, -0.5)
        title = f"{table['pair'].iloc[0]}: beside random divisions of the datapoints"
        style.set_title_and_legend(figure, f"{title}, {counted(len(models), 'model')}", ncols=3)
        intervals = f"{percent(confidence)} intervals of the mean over seeds"
        style.set_note(figure, f"Black lines of matched gaps: {intervals}.")
    return figure


def _draw(axes: "style.Axes", rows: pd.DataFrame, bar: float, level: str) -> None:
    """Draw the rows of one statistic; `bar` is the thickness of a bar, in points."""
    at, many = np.arange(len(rows)), len(rows) > _MOST_NAMED
    axes.hlines(
        at, 100 * rows["null_low"], 100 * rows["null_high"], color="0.75", linewidth=bar,
        label=f"{level} of the null",
    )  # fmt: skip
    axes.hlines(
        at, 100 * rows["mean_low"], 100 * rows["mean_high"], color="black",
        linewidth=0.2 if many else 0.6,
    )  # fmt: skip
    axes.plot(
        100 * rows["mean_over_seeds"], at, "|", color="black", label="mean over seeds",
        markersize=1.5 if many else 4,
    )  # fmt: skip
    axes.plot(
        100 * rows["observed"], at, style.MATCHED_GAP.marker, color=style.FITTED.color,
        label="observed, one run", **point_options(len(rows)),
    )  # fmt: skip


class PermutationNullSettings(PairTableSettings):
    """Pairs whose gaps are compared with those of random divisions of the same datapoints."""

    permutations: Count = Field(
        999, description="Random divisions besides the observed one; all where there are no more"
    )
    seed: Seed = Field(0, description="Seed of divisions and picks")


class PermutationNull(PairTableAnalysis):
    """Compare gaps with those that arise if both sets are draws from one population."""

    name: ClassVar[str] = "permutation_null"
    caption: ClassVar[str] = (
        "Gap, matched gap and share of unmatched targets on **{{ snakemake.wildcards.pair }}**, "
        "beside what they are if the same datapoints are divided into two sets at random and "
        "matched again. In the figure, models are ordered by increasing gap; bars are the "
        "middle 95 % of the null distribution; the mark is the run that is compared with it, "
        "the line the mean over seeds, with its 95 % interval. A small p of the matched gap "
        "says that the two sets differ in something, not that accuracies differ at equal "
        "confidence."
    )
    Settings: ClassVar[type[PermutationNullSettings]] = PermutationNullSettings
    settings: PermutationNullSettings
    has_figure: ClassVar[bool] = True

    @property
    def runs_per_seed(self) -> int:
        """Every permutation is matched once, not once per seed."""
        return 1 + self.settings.permutations // self.matching.settings.seeds
