"""Gaps of every model when it is matched on several uncertainty scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.outputs.model_outputs import Outputs
from matcheval.accuracy_prediction.outputs.user_files import read_user_file
from matcheval.accuracy_prediction.scores.temperature import fit_temperature
from matcheval.analyses.score_comparison.scores import Measured, Uncertainty, measure, votes
from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, percent_cell, signed_cells
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import (
    MATCHED_MODEL,
    ComparedModels,
    MatchedModel,
    PredictionFile,
    std_of_defined,
)
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.confidence_bins import Scored
from matcheval.protocol.decomposition import decompose
from matcheval.protocol.matched_errors import error_of_model
from matcheval.protocol.matching import run_sequence
from matcheval.protocol.plans import plan_measured
from matcheval.protocol.runs import match_once
from matcheval.protocol.scores import MeasuredScores, pooled_ranks
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import error_terms, pick_weights
from matcheval.protocol.words import matching_column

RANKS, AS_IS = "ranks", "as is"
_SINGLE = tuple(score for score in Uncertainty if score is not Uncertainty.VOTE_SHARE)
_QUANTITIES = (
    "matched_gap", "matched_gap_std", "matched_gap_se", "matched_gap_low", "matched_gap_high",
    "fraction_unmatched", "confidence_part", "confidence_low", "confidence_high",
    "conditional_part", "conditional_low", "conditional_high",
)  # fmt: skip

SCHEMA = TableSchema(
    "gaps by uncertainty score",
    (
        *MATCHED_MODEL,
        Column("score", pa.string(), "", "what datapoints are compared by"),
        Column("scale", pa.string(), "", "ranks: comparable between scores; as is: its values"),
        Column("temperature", pa.float64(), "1", "fitted temperature; NaN for other scores"),
        fraction("gap", "accuracy on the original minus on the replication"),
        fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
        fraction("matched_gap_std", "its standard deviation over seeds (ddof = 1)"),
        fraction("matched_gap_se", "its standard error, given scores and picks"),
        fraction("matched_gap_low", "lower bound of its 95 % interval"),
        fraction("matched_gap_high", "upper bound of its 95 % interval"),
        fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
        fraction("confidence_part", "part of gap that goes with the score, in bins of it"),
        fraction("confidence_low", "lower bound of its 95 % interval"),
        fraction("confidence_high", "upper bound of its 95 % interval"),
        fraction("conditional_part", "part of gap at equal score, in bins of it"),
        fraction("conditional_low", "lower bound of its 95 % interval"),
        fraction("conditional_high", "upper bound of its 95 % interval"),
        Column("reason", pa.string(), "", "why values are NaN; empty if none is"),
    ),
)


def tabulate(
    known: ComparedModels,
    *,
    ensembles: Mapping[str, Sequence[str]] | None = None,
    validation: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """Match every model on every score, and every ensemble on the share of votes."""
    rows: list[dict[str, Any]] = []
    for comparison, files in zip(known.comparisons, known.files, strict=True):
        sides = [_outputs(files[origin]) for origin in _origins(comparison)]
        temperature = None
        if validation and sides[0].logits is not None:
            given = validation[comparison.model]
            temperature = _temperature(PredictionFile(given["path"], Layout(**given["layout"])))
        for score in _SINGLE:
            both = [
                measure(score, outputs, side.probability, temperature)
                for outputs, side in zip(sides, (comparison.source, comparison.target), strict=True)
            ]
            shown = temperature if score is Uncertainty.TEMPERATURE else None
            rows += _rows(known, comparison, score, both, shown)
    by_name = {comparison.model: comparison for comparison in known.comparisons}
    for name, members in (ensembles or {}).items():
        comparison, both = _ensemble(name, [by_name[member] for member in members])
        rows += _rows(known, comparison, Uncertainty.VOTE_SHARE, both, None)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _origins(comparison: Comparison) -> tuple[str, str]:
    """Origins of the source and of the target."""
    origins = ("original", "replication")
    return origins if comparison.source_is_original else (origins[1], origins[0])


def _outputs(file: PredictionFile) -> Outputs:
    return read_user_file(file.path, layout=file.layout).outputs


def _temperature(file: PredictionFile) -> float | None:
    """Fit the temperature on validation data; None where these have no logits."""
    outputs = _outputs(file)
    if outputs.logits is None or outputs.labels is None:
        return None
    return fit_temperature(outputs.logits, outputs.labels)


def _ensemble(name: str, members: Sequence[Comparison]) -> tuple[Comparison, list[Measured]]:
    """Return the predictions of the majority, and the share of votes on source and target."""
    sets, shares = {}, {}
    for origin in ("original", "replication"):
        of_members = [getattr(member, origin) for member in members]
        majority, shares[origin] = votes([one.prediction for one in of_members])
        sets[origin] = replace(
            of_members[0], prediction=majority, probability=shares[origin].astype(np.float32),
            metadata={},
        )  # fmt: skip
    comparison = Comparison(name, members[0].pair, sets["original"], sets["replication"])
    return comparison, [Measured(shares[origin]) for origin in _origins(comparison)]


def _rows(
    known: ComparedModels,
    comparison: Comparison,
    score: Uncertainty,
    both: Sequence[Measured],
    temperature: float | None,
) -> Iterator[dict[str, Any]]:
    """Match one model on one score by all matchings, on ranks and as it is."""
    source, target = both
    for name, method in known.methods.items():
        for scale in (RANKS, AS_IS) if score.is_bounded else (RANKS,):
            row = {
                "model": comparison.model, "pair": comparison.pair.name, "matching": name,
                "criterion": method.criterion.value, "epsilon": method.epsilon,
                "score": score.value, "scale": scale,
                "temperature": float("nan") if temperature is None else temperature,
                "gap": float(
                    comparison.original.correct.mean() - comparison.replication.correct.mean()
                ),
                **dict.fromkeys(_QUANTITIES, float("nan")),
                "reason": source.reason or target.reason,
            }  # fmt: skip
            if source.values is not None and target.values is not None:
                measured = MeasuredScores(source.values, target.values, method.epsilon)
                if scale == RANKS:
                    measured = pooled_ranks(source.values, target.values, method.epsilon)
                row |= _quantities(known, comparison, name, method, measured)
            yield row


def _quantities(
    known: ComparedModels,
    comparison: Comparison,
    name: str,
    method: MatchingMethod,
    measured: MeasuredScores,
) -> dict[str, Any]:
    """Match one model once per seed, with the random numbers of the study's runs."""
    plan = plan_measured(comparison.source, comparison.target, method.criterion, measured)
    rows = {
        seed: match_once(
            plan, method.order,
            run_sequence(
                seed, pair=known.pair.name, criterion=method.criterion, model=comparison.model
            ),
        )
        for seed in known.seeds
    }  # fmt: skip
    matched = MatchedModel(comparison, name, method, rows)
    source = Scored(measured.source, comparison.source.correct)
    target = Scored(measured.target, comparison.target.correct)
    terms = error_terms(source, target, pick_weights(rows, len(comparison.source)))
    found = error_of_model(matched, known.blocks, terms)
    parts = decompose(
        source, target, source_is_original=comparison.source_is_original, blocks=known.blocks
    )
    return {
        **found.columns, "matched_gap_std": std_of_defined(matched.matched_gaps),
        "fraction_unmatched": float(matched.fractions_unmatched.mean()),
        "confidence_part": parts.confidence_part, "confidence_low": parts.confidence_low,
        "confidence_high": parts.confidence_high, "conditional_part": parts.conditional_part,
        "conditional_low": parts.conditional_low, "conditional_high": parts.conditional_high,
        "reason": found.reason,
    }  # fmt: skip


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format means over models for a readable table: all scores on ranks."""
    ranked = table[table["scale"] == RANKS]
    by_matching = [ranked[ranked["matching"] == name] for name in ranked["matching"].unique()]
    groups = pd.concat(by_matching).groupby(["matching", "score"], sort=False)
    points = {
        "Gap": "gap", "Matched gap": "matched_gap", "Part that goes with it": "confidence_part",
        "Conditional part": "conditional_part",
    }  # fmt: skip
    means = groups[[*points.values(), "fraction_unmatched"]].mean()
    labels = [Uncertainty(score).label for _, score in means.index]
    return [
        matching_column(matching for matching, _ in means.index),
        TextColumn("Score, on ranks", labels, is_number=False),
        TextColumn("Models", [f"{n}" for n in groups["matched_gap"].count()]),
        *(TextColumn(head, signed_cells(means[name].tolist(), 2)) for head, name in points.items()),
        TextColumn("Unmatched (%)", [percent_cell(u) for u in means["fraction_unmatched"]]),
        TextColumn("Remark", groups["reason"].max().tolist(), is_number=False),
    ]
