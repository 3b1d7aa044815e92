"""Gaps from a base to sets of known shift, with what matching and confidence say of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.datasets.suites import Member, Pair, Suite
from matcheval.errors import InputError
from matcheval.io.tables import DATASET, MODEL, Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, percent_cell, signed_cells
from matcheval.predictions.records import Predictions
from matcheval.protocol.blocks import paired_images
from matcheval.protocol.compared_models import MEAN, ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Decomposition, decompose_models
from matcheval.protocol.gap_of_model import scored
from matcheval.protocol.matched_errors import MatchedError, error_of_mean, error_of_model
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.words import matching_column
from matcheval.study.suite_files import SuiteFiles

_PARTS = (
    "gap", "gap_se", "gap_low", "gap_high", "confidence_part", "confidence_low",
    "confidence_high", "conditional_part", "conditional_low", "conditional_high",
)  # fmt: skip

SCHEMA = TableSchema(
    "gaps by severity",
    (
        MODEL,
        Column("suite", pa.string(), "", "name of the suite"),
        DATASET,
        Column("group", pa.string(), "", "group of the set; empty if not said"),
        Column("subgroup", pa.string(), "", "subgroup of the set; empty if not said"),
        Column("severity", pa.float64(), "1", "severity of the shift; 0 for the base; or NaN"),
        Column("base", pa.string(), "", "name of the base, the original"),
        Column("matching", pa.string(), "", "name of the matching"),
        Column("criterion", pa.string(), "", "label_probability (Algorithm 1) or probability (2)"),
        Column("epsilon", pa.float64(), "1", "largest difference of matched scores"),
        Column("paired", pa.bool_(), "", "whether the set shows the base's images"),
        Column("n", pa.int32(), "datapoints", "size of the set"),
        fraction("gap", "accuracy on the base minus accuracy on the set"),
        fraction("gap_se", "its standard error: standard deviation over resamples"),
        fraction("gap_low", "lower bound of its 95 % interval"),
        fraction("gap_high", "upper bound of its 95 % interval"),
        fraction("confidence_part", "part of gap that goes with confidence, in bins"),
        fraction("confidence_low", "lower bound of its 95 % interval"),
        fraction("confidence_high", "upper bound of its 95 % interval"),
        fraction("conditional_part", "part of gap at equal confidence, in bins"),
        fraction("conditional_low", "lower bound of its 95 % interval"),
        fraction("conditional_high", "upper bound of its 95 % interval"),
        fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
        fraction("matched_gap_se", "its standard error, given confidences and picks"),
        fraction("matched_gap_low", "lower bound of its 95 % interval"),
        fraction("matched_gap_high", "upper bound of its 95 % interval"),
        fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
        Column("reason", pa.string(), "", "why values are NaN; empty if none is"),
    ),
)


def tabulate(
    files: SuiteFiles,
    *,
    matchings: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    paired: bool,
) -> pd.DataFrame:
    """Run the protocol on predictions on file; see `tabulate_severities`."""
    methods = {name: MatchingMethod(**settings) for name, settings in matchings.items()}
    return tabulate_severities(
        files.suite, files.base, files.read, files.models, methods, seeds, paired=paired
    )


def tabulate_severities(
    suite: Suite,
    base: str,
    read: Callable[[str], Sequence[Predictions]],
    models: Sequence[str],
    methods: Mapping[str, MatchingMethod],
    seeds: Sequence[int],
    *,
    paired: bool = True,
) -> pd.DataFrame:
    """Run the whole protocol from the base to itself and to every set of a suite."""
    of_base = read(base)
    rows: list[dict[str, Any]] = []
    others = [member for member in suite.members if member.dataset != base]
    for member in (Member(base, severity=0.0), *others):
        sets = of_base if member.dataset == base else read(member.dataset)
        pair = Pair(member.dataset, base, member.dataset, paired=paired)
        comparisons = tuple(
            Comparison(model, pair, *both)
            for model, *both in zip(models, of_base, sets, strict=True)
        )
        blocks = None
        if paired:
            try:
                blocks = paired_images(comparisons[0].source, comparisons[0].target)
            except InputError as error:
                raise InputError(
                    f"'{member.dataset}' and the base '{base}': {error}",
                    field="severity.paired",
                ) from error
        known = ComparedModels(pair, comparisons, methods, tuple(seeds), blocks)
        of_set = {
            "suite": suite.name, "dataset": member.dataset, "group": member.group,
            "subgroup": member.subgroup, "base": base, "paired": paired, "n": len(sets[0]),
            "severity": float("nan") if member.severity is None else member.severity,
        }  # fmt: skip
        rows += [of_set | row for row in _rows(known)]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _rows(known: ComparedModels) -> Iterator[dict[str, Any]]:
    """Rows of all models and of their mean, by matching."""
    sides = [scored(comparison) for comparison in known.comparisons]
    parts = decompose_models(sides, source_is_original=known.sign == 1, blocks=known.blocks)
    for name, method in known.methods.items():
        matched = [
            MatchedModel(comparison, name, method, known.rows(comparison, method))
            for comparison in known.comparisons
        ]
        unmatched = [float(one.fractions_unmatched.mean()) for one in matched]
        setting = {
            "matching": name, "criterion": method.criterion.value, "epsilon": method.epsilon
        }  # fmt: skip
        for one, of_model, share in zip(matched, parts.models, unmatched, strict=True):
            yield {
                "model": one.comparison.model, **setting, "fraction_unmatched": share,
                **_columns(of_model, error_of_model(one, known.blocks)),
            }  # fmt: skip
        yield {
            "model": MEAN, **setting, "fraction_unmatched": float(np.mean(unmatched)),
            **_columns(parts.mean, error_of_mean(matched, known.blocks)),
        }  # fmt: skip


def _columns(parts: Decomposition, matched: MatchedError) -> dict[str, Any]:
    reasons = [parts.reason] if np.isnan(parts.gap_se) else []
    reasons += [matched.reason] if matched.reason else []
    of_gap = {name: float(getattr(parts, name)) for name in _PARTS}
    return of_gap | matched.columns | {"reason": "; ".join(reasons)}


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format means over models for a readable table."""
    means = table[table["model"] == MEAN]
    points = {
        "Gap": "gap", "SE": "gap_se", "Confidence part": "confidence_part",
        "Conditional part": "conditional_part", "Matched gap": "matched_gap",
        "SE ": "matched_gap_se",
    }  # fmt: skip
    return [
        TextColumn("Set", means["dataset"].tolist(), is_number=False),
        TextColumn("Subgroup", means["subgroup"].tolist(), is_number=False),
        TextColumn("Severity", ["" if np.isnan(s) else f"{s:g}" for s in means["severity"]]),
        matching_column(means["matching"]),
        *(TextColumn(head, signed_cells(means[name].tolist(), 2)) for head, name in points.items()),
        TextColumn("Unmatched (%)", list(map(percent_cell, means["fraction_unmatched"]))),
    ]
