"""Gaps of every model by predicted and by true class."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.analyses.class_gaps.measures import Classes, ClassMeasures, measure_classes
from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, signed_cells
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.confidence_bins import Scored, parts_of_bins
from matcheval.protocol.decomposition import decompose
from matcheval.protocol.matched_errors import MIN_PAIRS, matched_error
from matcheval.protocol.standard_errors import ErrorTerms
from matcheval.protocol.words import matching_column
from matcheval.statistics.significance import holm

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
