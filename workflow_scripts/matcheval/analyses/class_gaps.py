"""What a matching says of single classes, without matching again.

Source and target points are of a class by their own label, so that a class's matched subsets may
differ in size: under criterion 2, and for true classes always, they are no pairs.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.figures.style import (
    COLUMN_WIDTH,
    GAP,
    MATCHED_GAP,
    NOTE_SIZE,
    grid_shape,
    new_figure,
    set_note,
    set_title_and_legend,
    shortened,
    style,
)
from matcheval.io.columns import fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, counted, signed_cells
from matcheval.predictions.records import Predictions
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.confidence_bins import Floats, Scored, parts_of_bins
from matcheval.protocol.criteria import matching_label
from matcheval.protocol.decomposition import decompose
from matcheval.protocol.gap_terms import GapTerms, gap_terms
from matcheval.protocol.matched_errors import MIN_PAIRS, matched_error
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.protocol.standard_errors import ErrorTerms, isotonic_accuracy
from matcheval.protocol.words import matching_column
from matcheval.statistics.multiple_tests import holm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Classes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """One model and matching, by class; means are over the seeds with matched points on both sides.

    Arrays of shape (n_classes,), but `errors`.

    Attributes
    ----------
    n_source, n_target : float64
        Datapoints of the class.
    correct_source, correct_target : float64
        Of these, predicted correctly.
    n_matched_source, n_matched_target : float64
        Matched ones, mean over all seeds.
    terms : GapTerms
        Matched gap, source selection and dropped targets of the class, original minus replication.
    fraction_unmatched : float64
        Mean over all seeds.
    errors : ErrorTerms
        What each datapoint adds to the error of its own class's matched gap.
    """

    n_source: Floats
    n_target: Floats
    correct_source: Floats
    correct_target: Floats
    n_matched_source: Floats
    n_matched_target: Floats
    terms: GapTerms
    fraction_unmatched: Floats
    errors: ErrorTerms

    @property
    def n_matched(self) -> Floats:
        """Matched points of the side that has fewer."""
        return np.minimum(self.n_matched_source, self.n_matched_target)


def measure_classes(
    one: MatchedModel, source_class: Classes, target_class: Classes, n_classes: int
) -> ClassMeasures:
    """Count matched points and correct predictions of every class, and average over seeds."""
    comparison, matched = one.comparison, [row != UNMATCHED for row in one.rows.values()]
    picked = [row[hit] for row, hit in zip(one.rows.values(), matched, strict=True)]
    source = _Side.of(comparison.source, source_class, picked, n_classes)
    target = _Side.of(comparison.target, target_class, matched, n_classes)
    defined = (source.n_matched > 0) & (target.n_matched > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = gap_terms(
            accuracy_source=source.n_correct / source.n,
            matched_accuracy_source=source.n_matched_correct / source.n_matched,
            matched_accuracy_target=target.n_matched_correct / target.n_matched,
            unmatched_accuracy_target=(target.n_correct - target.n_matched_correct)
            / (target.n - target.n_matched),
            fraction_unmatched=1 - target.n_matched / target.n,
            source_is_original=comparison.source_is_original,
        )
        fraction_unmatched = 1 - target.n_matched.mean(axis=0) / target.n
    means = (_mean(values, defined) for values in vars(terms).values())
    errors = ErrorTerms(source.errors(picked, defined), -target.errors(matched, defined))
    return ClassMeasures(
        source.n, target.n, source.n_correct, target.n_correct, source.n_matched.mean(axis=0),
        target.n_matched.mean(axis=0), GapTerms(*means), fraction_unmatched, errors,
    )  # fmt: skip


# Which datapoints of a side each seed matched: rows, or a mask.
_Picked = Sequence[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class _Side:
    """Counts of one set: arrays of shape (n_classes,); of matched points (n_seeds, n_classes)."""

    predictions: Predictions
    classes: Classes
    n: Floats
    n_correct: Floats
    n_matched: Floats
    n_matched_correct: Floats

    @classmethod
    def of(
        cls, predictions: Predictions, classes: Classes, picked: _Picked, n_classes: int
    ) -> "_Side":
        def count(chosen: Any) -> tuple[Floats, Floats]:
            some, right = classes[chosen], predictions.correct[chosen]
            sizes = np.bincount(some, minlength=n_classes).astype(np.float64)
            return sizes, np.bincount(some, right, n_classes).astype(np.float64)

        n_matched, n_matched_correct = zip(*(count(chosen) for chosen in picked), strict=True)
        return cls(
            predictions, classes, *count(slice(None)), np.array(n_matched),
            np.array(n_matched_correct),
        )  # fmt: skip

    def errors(self, picked: _Picked, defined: npt.NDArray[np.bool_]) -> Floats:
        """Error terms, with weights that sum to 1 within every class (`PickWeights`)."""
        weights = np.zeros(len(self.classes))
        n_seeds = np.maximum(defined.sum(axis=0), 1)
        for chosen, n_matched, is_defined in zip(picked, self.n_matched, defined, strict=True):
            share = np.where(is_defined, 1 / np.maximum(n_matched, 1), 0) / n_seeds
            weights[chosen] += share[self.classes[chosen]]
        correct = self.predictions.correct
        return weights * (
            correct - isotonic_accuracy(Scored(self.predictions.probability, correct))
        )


def _mean(values: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    """Average over the seeds for which all terms are defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0)
    return mean


KINDS = {"predicted": "prediction", "true": "label"}
ALL = -1  # stands for all classes together

_NAN = float("nan")
_UNDEFINED = dict.fromkeys(
    (
        "matched_gap", "source_selection", "dropped_targets", "matched_gap_se", "matched_gap_low",
        "matched_gap_high", "p", "confidence_part", "confidence_low", "confidence_high",
        "conditional_part", "conditional_low", "conditional_high",
    ),
    _NAN,
)  # fmt: skip

SCHEMA = TableSchema(
    "gaps by class",
    (
        *MATCHED_MODEL,
        Column("kind", pa.string(), "", "predicted: a diagnosis; true: a description"),
        Column("class", pa.int32(), "1", "number of the class; -1 for all classes together"),
        Column("n_source", pa.int32(), "datapoints", "of the class, in the source"),
        Column("n_target", pa.int32(), "datapoints", "of the class, in the target"),
        Column("n_matched_source", pa.float64(), "datapoints", "matched, mean over seeds"),
        Column("n_matched_target", pa.float64(), "datapoints", "matched, mean over seeds"),
        fraction("fraction_unmatched", "unmatched targets of the class over its targets"),
        fraction("gap", "accuracy on the original minus on the replication, within the class"),
        fraction("matched_gap", "of matched points of the class, mean over seeds"),
        fraction("source_selection", "accuracy on the source minus on its matched points, signed"),
        fraction("dropped_targets", "what the unmatched targets of the class add"),
        fraction("matched_gap_se", "standard error, given confidences and picks"),
        fraction("matched_gap_low", "lower bound of the 95 % interval of matched_gap"),
        fraction("matched_gap_high", "upper bound of the 95 % interval of matched_gap"),
        fraction("p", "two-sided p-value of a matched gap of 0 (normal)"),
        fraction("p_holm", "p corrected for the number of classes (Holm)"),
        fraction("confidence_part", "part of gap that goes with confidence, in bins"),
        fraction("confidence_low", "lower bound of its 95 % interval"),
        fraction("confidence_high", "upper bound of its 95 % interval"),
        fraction("conditional_part", "part of gap at equal confidence, in bins"),
        fraction("conditional_low", "lower bound of its 95 % interval"),
        fraction("conditional_high", "upper bound of its 95 % interval"),
        fraction("class_mix", "part of gap that goes with the shares of the classes; of all only"),
        fraction("within_class", "the rest of it, at equal shares of the classes; of all only"),
        Column("reason", pa.string(), "", "why values are NaN; empty if none is"),
    ),
)


def tabulate(known: ComparedModels) -> pd.DataFrame:
    """Divide the gap of every class, and of all classes together."""
    n_classes = 1 + max(
        int(getattr(side, column).max())
        for one in known.comparisons
        for side in (one.source, one.target)
        for column in KINDS.values()
    )
    parts: dict[tuple[str, str, int], dict[str, float]] = {}
    rows = []
    for one in known.matched():
        for kind, column in KINDS.items():
            found = []
            for number, row in _rows(one, column, n_classes, known.blocks):
                key = one.comparison.model, kind, number
                if not np.isnan(row["matched_gap"]):
                    if key not in parts:  # the same for all matchings
                        parts[key] = _parts(one.comparison, column, number, known.blocks)
                    row |= parts[key]
                found.append(one.identity | {"kind": kind, "class": number} | row)
            corrected = holm([row["p"] for row in found[1:]])
            rows += [row | {"p_holm": p} for row, p in zip(found, [_NAN, *corrected], strict=True)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _classes(comparison: Comparison, column: str) -> list[Classes]:
    """Return the predicted or true classes of the source and of the target."""
    sides = (comparison.source, comparison.target)
    return [getattr(side, column).astype(np.int64) for side in sides]


def _rows(
    one: MatchedModel, column: str, n_classes: int, blocks: Blocks | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row of all classes together, then of each class that either set has."""
    classes = _classes(one.comparison, column)
    of_classes = measure_classes(one, classes[0], classes[1], n_classes)
    together = [np.zeros_like(each) for each in classes]
    of_all = measure_classes(one, together[0], together[1], 1)
    mix = _class_mix(of_classes, 1 if one.comparison.source_is_original else -1)
    yield ALL, _row(one.comparison, of_all, 0, together, blocks) | mix
    for number in np.flatnonzero(of_classes.n_source + of_classes.n_target).tolist():
        yield number, _row(one.comparison, of_classes, number, classes, blocks)


def _row(
    comparison: Comparison,
    measures: ClassMeasures,
    at: int,
    classes: list[Classes],
    blocks: Blocks | None,
) -> dict[str, Any]:
    """Return counts and, where there are enough matched points, terms and standard error."""
    sign = 1 if comparison.source_is_original else -1
    n_source, n_target = measures.n_source[at], measures.n_target[at]
    gap = _NAN
    if n_source and n_target:
        source = measures.correct_source[at] / n_source
        gap = sign * float(source - measures.correct_target[at] / n_target)
    row = {
        "n_source": int(n_source), "n_target": int(n_target),
        "n_matched_source": float(measures.n_matched_source[at]),
        "n_matched_target": float(measures.n_matched_target[at]),
        "fraction_unmatched": float(measures.fraction_unmatched[at]),
        "gap": gap, **_UNDEFINED, "class_mix": _NAN, "within_class": _NAN, "reason": "",
    }  # fmt: skip
    if measures.n_matched[at] < MIN_PAIRS:
        return row | {"reason": f"fewer than {MIN_PAIRS} matched points on a side"}
    terms = {name: float(values[at]) for name, values in vars(measures.terms).items()}
    in_class = [each == at for each in classes]
    errors = ErrorTerms(measures.errors.source * in_class[0], measures.errors.target * in_class[1])
    found = matched_error(
        terms["matched_gap"], measures.n_matched[at], comparison.one_sided, errors, blocks
    )
    return row | terms | found.columns | {"p": _p(found.gap, found.error), "reason": found.reason}


def _p(gap: float, error: float) -> float:
    """Two-sided p-value of a normal deviate; NaN where the standard error is 0 or undefined."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(gap) / error)) if error > 0 else _NAN


def _parts(
    comparison: Comparison, column: str, number: int, blocks: Blocks | None
) -> dict[str, float]:
    """Return the standardised decomposition within a class."""
    in_class = [
        np.full(len(each), True) if number == ALL else each == number
        for each in _classes(comparison, column)
    ]
    sides = [
        Scored(side.probability[chosen], side.correct[chosen])
        for side, chosen in zip((comparison.source, comparison.target), in_class, strict=True)
    ]
    found = decompose(
        sides[0], sides[1], source_is_original=comparison.source_is_original,
        blocks=_of_class(blocks, in_class), seed=number - ALL,
    )  # fmt: skip
    each = itertools.product(("confidence", "conditional"), ("part", "low", "high"))
    return {f"{part}_{end}": float(getattr(found, f"{part}_{end}")) for part, end in each}


def _of_class(blocks: Blocks | None, in_class: list[npt.NDArray[np.bool_]]) -> Blocks | None:
    """Return the blocks of some datapoints; blocks without any stay, and are drawn in vain."""
    if blocks is None:
        return None
    return Blocks(
        blocks.source[in_class[0]], blocks.target[in_class[1]], blocks.n_source, blocks.n_target,
        blocks.joint, blocks.grouped,
    )  # fmt: skip


def _class_mix(measures: ClassMeasures, sign: int) -> dict[str, float]:
    """Divide the gap of all classes by their shares, as `parts_of_bins` does by confidence."""
    parts = parts_of_bins(
        measures.n_source, measures.correct_source, measures.n_target, measures.correct_target
    )
    return {
        "class_mix": sign * float(parts.confidence),
        "within_class": sign * float(parts.conditional),
    }


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format gaps for a readable table."""
    shown = table[table["matched_gap"].notna() | (table["class"] == ALL)]
    return [
        TextColumn("Model", shown["model"].tolist(), is_number=False),
        matching_column(shown["matching"]),
        TextColumn("Kind", shown["kind"].tolist(), is_number=False),
        TextColumn("Class", ["all" if k == ALL else f"{k}" for k in shown["class"]]),
        TextColumn("Gap", signed_cells(shown["gap"].tolist(), 1)),
        TextColumn("Matched gap", list(_with_interval(shown, "matched_gap"))),
        TextColumn("p (Holm)", list(map(_p_cell, shown["p"], shown["p_holm"]))),
        TextColumn("Confidence part", signed_cells(shown["confidence_part"].tolist(), 1)),
        TextColumn("Conditional part", signed_cells(shown["conditional_part"].tolist(), 1)),
        TextColumn("Class mix", signed_cells(shown["class_mix"].tolist(), 1)),
    ]


def _with_interval(table: pd.DataFrame, name: str) -> Iterator[str]:
    each = (signed_cells(table[f"{name}{end}"].tolist(), 1) for end in ("", "_low", "_high"))
    for value, low, high in zip(*each, strict=True):
        yield value if low == "–" else f"{value} [{low}, {high}]"


def _p_cell(p: float, corrected: float) -> str:
    value = p if np.isnan(corrected) else corrected
    return "–" if np.isnan(value) else f"{value:.2g}"


_ROW, _MARGIN, _AROUND = 0.16, 0.75, 0.7  # inches: of a class, a row of panels, the figure
_COLUMNS = 4  # panels in a row
_MOST_CLASSES = 45  # rows of a panel that fit on a page


def plot(table: pd.DataFrame) -> "Figure":
    """Draw gaps and matched gaps of every class."""
    shown = table[table["reason"] == ""]
    classes, note = _chosen_classes(shown)
    panels = table[["matching", "kind"]].drop_duplicates().itertuples(index=False)
    keys = list(panels)
    n_rows, n_columns = grid_shape(len(keys), _COLUMNS)
    models = table["model"].nunique()
    with style():
        height = n_rows * (_MARGIN + _ROW * max(len(classes), 2)) + _AROUND
        figure = new_figure(0.5 * COLUMN_WIDTH * max(n_columns, 2), height)
        axes = figure.subplots(n_rows, n_columns, sharey=True, sharex=True, squeeze=False)
        for panel, (matching, kind) in zip(axes.flat, keys, strict=False):
            chosen = (shown["matching"] == matching) & (shown["kind"] == kind)
            _draw(panel, shown[chosen & shown["class"].isin(classes)], classes)
            panel.set_title(f"{shortened(matching_label(matching), 24)}\n{kind} class")
            panel.set_xlabel("Difference (points)")
            panel.tick_params(labelbottom=True)
        for panel in axes.flat[len(keys) :]:
            panel.set_axis_off()
        names = ["all" if k == ALL else f"{k}" for k in classes]
        for panel in axes[:, 0]:
            panel.set_yticks(range(len(classes)), names, fontsize=NOTE_SIZE)
            panel.set_ylim(max(len(classes), 1) - 0.5, -0.5)
            panel.set_ylabel("Class")
        bars = "Bars: 95 % intervals."
        if models > 1:
            bars = "Points: means over models; bars: lowest to highest model."
        title = f"{table['pair'].iloc[0]}: gaps by class, {counted(models, 'model')}"
        set_title_and_legend(figure, title, ncols=2)
        set_note(figure, f"{bars} {note}")
    return figure


def _chosen_classes(shown: pd.DataFrame) -> tuple[list[int], str]:
    """Return the classes with the largest matched gaps, as many as fit, and what was left out."""
    classes = sorted(shown["class"].unique())
    if set(classes) <= {ALL}:
        return classes, "No class has enough matched points."
    if len(classes) <= _MOST_CLASSES:
        return classes, "Classes with too few matched points are left out."
    sizes = shown.groupby("class")["matched_gap"].mean().abs().drop(ALL, errors="ignore")
    largest = sizes.nlargest(_MOST_CLASSES - 1).index
    note = f"The {len(largest)} of {len(sizes)} classes with the largest matched gaps."
    return [k for k in classes if k == ALL or k in largest], note


def _draw(axes: "Axes", table: pd.DataFrame, classes: list[int]) -> None:
    rows = table["class"].map({number: row for row, number in enumerate(classes)})
    one_model = len(set(table["model"])) == 1
    for column, look, label, shift in (
        ("gap", GAP, "all points", -0.15),
        ("matched_gap", MATCHED_GAP, "matched points", 0.15),
    ):
        groups = (100 * table[column]).groupby(rows)
        mean, low, high = groups.mean(), groups.min(), groups.max()
        if one_model and column == "matched_gap":
            low, high = (
                (100 * table[f"{column}_{end}"]).groupby(rows).first() for end in ("low", "high")
            )
        axes.hlines(mean.index + shift, low, high, color=look.color, linewidth=0.8)
        axes.plot(mean, mean.index + shift, look.marker, color=look.color, label=label)
    axes.axvline(0, color="#767676", linewidth=0.7, zorder=1)


class ClassGaps(PairTableAnalysis):
    """Divide the gap of every class, matched as in the whole run."""

    name: ClassVar[str] = "class_gaps"
    caption: ClassVar[str] = (
        "Gaps within predicted and within true classes of **{{ snakemake.wildcards.pair }}**, "
        "of all and of matched points; datapoints are matched as in the whole run. In the "
        "figure, points are means over models and bars reach from the lowest to the highest; of "
        "a single model, bars are 95 % intervals of the matched gap. Classes with fewer than 30 "
        "matched points on a side are left out."
    )
    has_figure: ClassVar[bool] = True
