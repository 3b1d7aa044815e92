"""Gaps within single classes, of the datapoints that were matched over all classes.

A datapoint is of its own class, whatever the class of its match: the matched subsets of a class may
differ in size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.figures import style
from matcheval.figures.forms import Series, drawing, intervals, name_rows, panels
from matcheval.io.tables import Column, TableSchema, fraction, interval, text
from matcheval.io.text_tables import counted, level_text, with_interval
from matcheval.predictions.layout import class_name
from matcheval.predictions.records import Predictions
from matcheval.protocol import compared_models
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.protocol.compared_models import MIN_PAIRS, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Blocks, Comparison
from matcheval.protocol.decomposition import Floats, Scored, decompose, parts_of_bins
from matcheval.protocol.gaps import GapTerms, gap_terms
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.settings import matching_label
from matcheval.protocol.standard_errors import ErrorTerms, isotonic_accuracy
from matcheval.statistics.intervals import LEVEL, holm

Classes = npt.NDArray[np.int64]  # class of each datapoint
_RowsBySeed = Sequence[npt.NDArray[Any]]  # row numbers of the datapoints that each seed matched


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Numbers of all, of correct and of matched datapoints of one set, by class."""

    predictions: Predictions
    classes: Classes
    n: Floats  # shape (n_classes,)
    n_correct: Floats
    n_matched: Floats  # shape (n_seeds, n_classes)
    n_matched_correct: Floats

    @classmethod
    def count(
        cls, predictions: Predictions, classes: Classes, matched_rows: _RowsBySeed, n_classes: int
    ) -> Self:
        """Count all datapoints of each class, the matched ones by seed, and the correct of both."""

        def count_by_class(rows: Any) -> tuple[Floats, Floats]:
            """Return the numbers of datapoints and of correct ones among some rows."""
            of_rows, right = classes[rows], predictions.correct[rows]
            sizes = np.bincount(of_rows, minlength=n_classes).astype(np.float64)
            return sizes, np.bincount(of_rows, right, n_classes).astype(np.float64)

        by_seed = map(np.array, zip(*map(count_by_class, matched_rows), strict=True))
        return cls(predictions, classes, *count_by_class(slice(None)), *by_seed)

    def error_terms(self, matched_rows: _RowsBySeed, defined: npt.NDArray[np.bool_]) -> Floats:
        """Return each datapoint's contribution to the error of its class's matched accuracy.

        As `standard_errors.error_terms`, with weights that sum to 1 in every class.
        """
        weights = np.zeros(len(self.classes))
        n_seeds = np.maximum(defined.sum(axis=0), 1)
        for rows, n_matched, is_defined in zip(matched_rows, self.n_matched, defined, strict=True):
            share = np.where(is_defined, 1 / np.maximum(n_matched, 1), 0) / n_seeds
            weights[rows] += share[self.classes[rows]]
        correct = self.predictions.correct
        fitted = isotonic_accuracy(Scored(self.predictions.probability, correct))
        return weights * (correct - fitted)


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """Counts, gap terms and error contributions by class, for one model and matching.

    Terms are means over the seeds with matched points of the class on both sides; `errors` are what
    each datapoint adds to the error of its own class's matched gap.
    """

    source: ClassCounts
    target: ClassCounts
    terms: GapTerms
    fraction_unmatched: Floats  # mean over all seeds
    errors: ErrorTerms

    @property
    def n_matched(self) -> Floats:
        """Mean number of matched points by class, of the side that has fewer; over all seeds."""
        sides = (self.source, self.target)
        return np.min([side.n_matched.mean(axis=0) for side in sides], axis=0)


def measure_classes(
    model: MatchedModel, source_class: Classes, target_class: Classes, n_classes: int
) -> ClassMeasures:
    """Measure gap terms, counts and errors within every class; the terms are means over seeds."""
    comparison, targets = model.comparison, [row != UNMATCHED for row in model.rows.values()]
    sources = [row[hit] for row, hit in zip(model.rows.values(), targets, strict=True)]
    source = ClassCounts.count(comparison.source, source_class, sources, n_classes)
    target = ClassCounts.count(comparison.target, target_class, targets, n_classes)
    defined = (source.n_matched > 0) & (target.n_matched > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        runs = {
            "accuracy_source": source.n_correct / source.n,
            "matched_accuracy_source": source.n_matched_correct / source.n_matched,
            "matched_accuracy_target": target.n_matched_correct / target.n_matched,
            "unmatched_accuracy_target": (target.n_correct - target.n_matched_correct)
            / (target.n - target.n_matched),
            "fraction_unmatched": 1 - target.n_matched / target.n,
        }
        terms = gap_terms(runs, source_is_original=comparison.source_is_original)
        fraction_unmatched = 1 - target.n_matched.mean(axis=0) / target.n
        means = [
            np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0)
            for values in vars(terms).values()
        ]
    errors = ErrorTerms(source.error_terms(sources, defined), -target.error_terms(targets, defined))
    return ClassMeasures(source, target, GapTerms(*means), fraction_unmatched, errors)


KINDS = {"predicted": "prediction", "true": "label"}
ALL = -1  # stands for all classes together

_NAN = float("nan")


def _rows_to_show(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of classes with a matched gap, with Holm's p, and those of all classes."""
    shown = table[table["matched_gap"].notna() | (table["class"] == ALL)]
    return shown.assign(p=shown["p_holm"].fillna(shown["p"]))


SCHEMA = TableSchema(
    "gaps by class",
    *compared_models.MATCHED_MODEL,
    text("kind", "predicted: a diagnosis; true: a description"),
    Column("class", pa.int32(), "1", "number of the class; -1 for all classes together"),
    text("class_name", "its name, or its number in the files; all for all together"),
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
    fraction("matched_gap_low", "lower bound of the {level} interval of matched_gap"),
    fraction("matched_gap_high", "upper bound of the {level} interval of matched_gap"),
    fraction("p", "two-sided p-value of a matched gap of 0 (normal)"),
    fraction("p_holm", "p corrected for the number of classes (Holm)"),
    fraction("confidence_part", "part of gap that confidence explains, in bins"),
    *interval("confidence"),
    fraction("conditional_part", "part of gap at equal confidence, in bins"),
    *interval("conditional"),
    fraction("class_mix", "part of gap from other shares of the classes; of all only"),
    fraction("within_class", "the rest of it, at equal shares of the classes; of all only"),
    text("reason", "why values are NaN; empty if none is"),
    summary=_rows_to_show,
    shown={
        "Model": "{model}", "Matching": "{matching}", "Kind": "{kind}", "Class": "{class_name}",
        "Gap": "{gap:+.1%}", "Matched gap": with_interval("matched_gap", "+.1%"),
        "p (Holm)": "{p:.2g}", "Confidence part": "{confidence_part:+.1%}",
        "Conditional part": "{conditional_part:+.1%}", "Class mix": "{class_mix:+.1%}",
    },
)  # fmt: skip


def tabulate(compared: ComparedModels) -> pd.DataFrame:
    """Tabulate the gap, its parts and the matched gap within every class, and over all classes."""
    n_classes = 1 + max(
        int(getattr(side, column).max())
        for comparison in compared.comparisons
        for side in (comparison.source, comparison.target)
        for column in KINDS.values()
    )
    parts: dict[tuple[str, str, int], dict[str, float]] = {}
    rows = []
    for model in compared.matched():
        for kind, column in KINDS.items():
            rows_of_kind: list[dict[str, Any]] = []
            for number, row in _class_rows(model, column, n_classes, compared.blocks):
                key = model.comparison.model, kind, number
                if "matched_gap" in row:
                    if key not in parts:  # the same for all matchings
                        parts[key] = _gap_parts(model.comparison, column, number, compared.blocks)
                    row |= parts[key]
                name = "all" if number == ALL else class_name(compared.layout, number)
                names = {"kind": kind, "class": number, "class_name": name}
                rows_of_kind.append(model.identity | names | row)
            corrected = [_NAN, *holm([row.get("p", _NAN) for row in rows_of_kind[1:]])]
            rows += [row | {"p_holm": p} for row, p in zip(rows_of_kind, corrected, strict=True)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _classes(comparison: Comparison, column: str) -> tuple[Classes, Classes]:
    """Return the column `prediction` or `label` of the source and of the target."""
    source, target = (getattr(side, column) for side in (comparison.source, comparison.target))
    return source.astype(np.int64), target.astype(np.int64)


def _class_rows(
    model: MatchedModel, column: str, n_classes: int, blocks: Blocks | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and row of all classes together, then of each class that either set has."""
    classes = _classes(model.comparison, column)
    by_class = measure_classes(model, *classes, n_classes)
    source, target = by_class.source, by_class.target
    over_all = measure_classes(model, np.zeros_like(classes[0]), np.zeros_like(classes[1]), 1)
    # The gap of all classes, divided by their shares as by confidence.
    mix = parts_of_bins(source.n, source.n_correct, target.n, target.n_correct)
    sign = 1 if model.comparison.source_is_original else -1
    yield ALL, _class_row(model.comparison, over_all, 0, blocks) | {
        "class_mix": sign * float(mix.confidence), "within_class": sign * float(mix.conditional)
    }  # fmt: skip
    for number in np.flatnonzero(source.n + target.n).tolist():
        yield number, _class_row(model.comparison, by_class, number, blocks)


def _class_row(
    comparison: Comparison, measures: ClassMeasures, number: int, blocks: Blocks | None
) -> dict[str, Any]:
    """Return a class's counts and gap and, with enough matched points, its matched gap and p."""
    source, target, gap = measures.source, measures.target, _NAN
    if source.n[number] and target.n[number]:
        sign = 1 if comparison.source_is_original else -1
        accuracy = source.n_correct[number] / source.n[number]
        gap = sign * float(accuracy - target.n_correct[number] / target.n[number])
    row = {
        "n_source": int(source.n[number]), "n_target": int(target.n[number]),
        "n_matched_source": float(source.n_matched.mean(axis=0)[number]),
        "n_matched_target": float(target.n_matched.mean(axis=0)[number]),
        "fraction_unmatched": float(measures.fraction_unmatched[number]), "gap": gap,
    }  # fmt: skip
    n_matched = measures.n_matched[number]
    if n_matched < MIN_PAIRS:
        return row | {"reason": f"fewer than {MIN_PAIRS} matched points on a side"}
    terms = {name: float(values[number]) for name, values in vars(measures.terms).items()}
    errors = ErrorTerms(
        measures.errors.source * (source.classes == number),
        measures.errors.target * (target.classes == number),
    )
    estimate = compared_models.matched_error(
        terms["matched_gap"], n_matched, comparison.one_sided, errors, blocks,
        comparison.pair.confidence,
    )  # fmt: skip
    from scipy.special import ndtr

    gap, error = estimate.matched_gap, estimate.matched_gap_se
    p = float(2 * ndtr(-abs(gap) / error)) if error > 0 else _NAN  # two-sided
    return row | terms | vars(estimate) | {"p": p}


def _gap_parts(
    comparison: Comparison, column: str, number: int, blocks: Blocks | None
) -> dict[str, float]:
    """Split the gap within one class into the part that confidence explains and the rest."""
    in_class = [
        np.full(len(classes), True) if number == ALL else classes == number
        for classes in _classes(comparison, column)
    ]
    source, target = (
        Scored(side.probability[rows], side.correct[rows])
        for side, rows in zip((comparison.source, comparison.target), in_class, strict=True)
    )
    if blocks is not None:  # blocks without any of the datapoints stay, and are drawn in vain
        of_class = {"source": blocks.source[in_class[0]], "target": blocks.target[in_class[1]]}
        blocks = replace(blocks, **of_class)
    return decompose(
        source, target, source_is_original=comparison.source_is_original, blocks=blocks,
        seed=number - ALL, level=comparison.pair.confidence,
    ).parts  # fmt: skip


_ROW, _MARGIN, _AROUND = 0.16, 0.75, 0.7  # inches: of a class, a row of panels, the figure
_COLUMNS = 4  # panels in a row
_MOST_CLASSES = 45  # rows of a panel that fit on a page


def plot(table: pd.DataFrame, confidence: float = LEVEL) -> "style.Figure":
    """Plot gap and matched gap by class, in a panel per matching and kind of class."""
    shown = table[table["reason"] == ""]
    classes, note = _classes_to_plot(shown)
    keys = list(table[["matching", "kind"]].drop_duplicates().itertuples(index=False))
    n_rows, n_columns = style.grid_shape(len(keys), _COLUMNS)
    n_models = table["model"].nunique()
    over_models = "Points: means over models; bars: lowest to highest model."
    bars = over_models if n_models > 1 else f"Bars: {level_text(confidence)} intervals."
    height = n_rows * (_MARGIN + _ROW * max(len(classes), 2)) + _AROUND
    size = 0.5 * style.COLUMN_WIDTH * max(n_columns, 2), height
    title = f"{table['pair'].iloc[0]}: gaps by class, {counted(n_models, 'model')}"
    series = [
        Series("gap", style.GAP, "all points"),
        Series("matched_gap", style.MATCHED_GAP, "matched points"),
    ]
    names = table.drop_duplicates("class").set_index("class")["class_name"].loc[classes]
    with drawing(*size, title, f"{bars} {note}", legend_columns=2) as figure:
        axes = panels(figure, len(keys), _COLUMNS)
        for number, (panel, (matching, kind)) in enumerate(zip(axes, keys, strict=True)):
            rows = shown[(shown["matching"] == matching) & (shown["kind"] == kind)]
            intervals(panel, _class_means(rows, several=n_models > 1).reindex(classes), series)
            style.draw_zero(panel, upright=True)
            panel.set_title(f"{style.shortened(matching_label(matching), 24)}\n{kind} class")
            panel.set_xlabel("Difference (points)")
            if number % n_columns == 0:
                short = [style.shortened(name, 16) for name in names]
                name_rows(panel, short, fontsize=style.NOTE_SIZE)
                panel.set_ylabel("Class")
    return figure


def _class_means(table: pd.DataFrame, *, several: bool) -> pd.DataFrame:
    """Return each class's mean gaps, with the range of several models or one model's interval."""
    groups, columns = table.groupby("class"), ["gap", "matched_gap"]
    rows = groups[columns].mean()
    if not several:
        return rows.join(groups[["matched_gap_low", "matched_gap_high"]].first())
    low, high = groups[columns].min(), groups[columns].max()
    return rows.join([low.add_suffix("_low"), high.add_suffix("_high")])


def _classes_to_plot(shown: pd.DataFrame) -> tuple[list[int], str]:
    """Return the classes with the largest mean matched gaps, and a note on those left out."""
    classes = sorted(shown["class"].unique())
    if set(classes) <= {ALL}:
        return classes, "No class has enough matched points."
    if len(classes) <= _MOST_CLASSES:
        return classes, "Classes with too few matched points are left out."
    sizes = shown.groupby("class")["matched_gap"].mean().abs().drop(ALL, errors="ignore")
    largest = {ALL, *sizes.nlargest(_MOST_CLASSES - 1).index}
    note = f"The {len(largest) - 1} of {len(sizes)} classes with the largest matched gaps."
    return [k for k in classes if k in largest], note


class ClassGaps(PairTableAnalysis):
    """Compare accuracies within each class, on datapoints that were matched over all classes."""

    name: ClassVar[str] = "class_gaps"
    caption: ClassVar[str] = (
        "Gaps within predicted and within true classes of **{{ snakemake.wildcards.pair }}**, "
        "of all and of matched points; datapoints are matched as in the whole run. In the "
        "figure, points are means over models and bars reach from the lowest to the highest; of "
        "a single model, bars are {level} intervals of the matched gap. Classes with fewer than 30 "
        "matched points on a side are left out."
    )
    has_figure: ClassVar[bool] = True
