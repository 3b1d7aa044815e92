"""Gaps of every model when it is matched on several uncertainty scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.accuracy_prediction.output_files import read_user_file
from matcheval.accuracy_prediction.scores.confidence import fit_temperature
from matcheval.accuracy_prediction.scores.outputs import Outputs, moments_of_features
from matcheval.errors import configuration_error
from matcheval.figures import style
from matcheval.figures.forms import Series, draw_rows, drawing, intervals, name_rows
from matcheval.io.tables import Column, TableSchema, fraction, interval, text
from matcheval.io.text_tables import counted, level_text
from matcheval.predictions.layout import Layout, layout_of
from matcheval.predictions.records import Predictions
from matcheval.predictions.softmax import softmax
from matcheval.protocol import compared_models
from matcheval.protocol.analysis import PairTableAnalysis, PairTableSettings
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored, decompose
from matcheval.protocol.matching import SortedSets
from matcheval.protocol.no_warning import no_warning_reference
from matcheval.protocol.schemas import GAP_QUANTITIES
from matcheval.protocol.settings import MatchingMethod, Score, matching_label
from matcheval.protocol.standard_errors import error_terms
from matcheval.settings import DatasetName, ModelName, Named, SomeUnique
from matcheval.statistics.intervals import LEVEL
from matcheval.study.rules import Wildcards

Floats = npt.NDArray[np.float64]


class Uncertainty(StrEnum):
    """Uncertainty scores to match on: all by their ranks, those in [0, 1] as they are, too."""

    CONFIDENCE = "confidence"
    MARGIN = "margin"
    ENTROPY = "entropy"
    ENERGY = "energy"
    TEMPERATURE = "temperature"
    CLASS_MEANS = "class_means"
    VOTE_SHARE = "vote_share"


LABELS = {
    Uncertainty.CONFIDENCE: "confidence",
    Uncertainty.MARGIN: "margin of the two largest",
    Uncertainty.ENTROPY: "1 − normalised entropy",
    Uncertainty.ENERGY: "energy (log-sum-exp)",
    Uncertainty.TEMPERATURE: "confidence, temperature-scaled",
    Uncertainty.CLASS_MEANS: "distance to class means",
    Uncertainty.VOTE_SHARE: "vote share of the ensemble",
}


def margin(probabilities: Floats) -> Floats:
    """Return each row's largest minus its second largest probability."""
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def certainty(probabilities: Floats) -> Floats:
    """Return 1 minus each row's normalised entropy, in [0, 1]."""
    from scipy.special import entr

    entropy = entr(probabilities).sum(axis=1)
    return np.clip(1 - entropy / np.log(probabilities.shape[1]), 0, 1)


def energy(logits: npt.NDArray[Any]) -> Floats:
    """Return the log-sum-exp of each row of logits, which is minus the free energy."""
    from scipy.special import logsumexp

    return logsumexp(logits.astype(np.float64), axis=1)


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Mean features of each class, and a matrix that whitens the within-class covariance."""

    means: Floats
    whitening: Floats

    @classmethod
    def fit(cls, outputs: Outputs) -> "ClassMeans | None":
        """Fit class means to labelled features; None without those or with several labels each."""
        features, labels = outputs.features, outputs.labels
        if features is None or labels is None or labels.ndim > 1:
            return None
        is_known = labels >= 0
        features, labels = features[is_known], labels[is_known]
        _, row = np.unique(labels, return_inverse=True)
        by_class = [features[row == k] for k in range(row.max() + 1)]
        means = np.stack([rows.mean(axis=0, dtype=np.float64) for rows in by_class])
        within = moments_of_features((features - means[row]).astype(np.float32))
        return cls(means, within.whitening)

    def nearness(self, features: npt.NDArray[np.float32]) -> Floats:
        """Return minus the Mahalanobis distance to the nearest mean (Lee et al. 2018, eq. 2)."""
        from scipy.spatial.distance import cdist

        distances = cdist(features @ self.whitening, self.means @ self.whitening)
        return np.asarray(-distances.min(axis=1))


def majority_vote(
    predicted: Sequence[npt.NDArray[np.integer]],
) -> tuple[npt.NDArray[np.int16], Floats]:
    """Return the class that most models predict, by datapoint, and the share that predict it."""
    stacked = np.stack(predicted).astype(np.int64)
    majority, most = np.zeros((2, stacked.shape[1]), np.int64)
    for candidate in np.sort(stacked, axis=0):  # from the lowest class of each datapoint
        count = (stacked == candidate).sum(axis=0)
        majority = np.where(count > most, candidate, majority)
        most = np.maximum(most, count)
    return majority.astype(np.int16), most / len(stacked)


_NO_LOGITS = "no logits on file: add logits to inference.outputs"


def compute_score(
    score: Uncertainty, outputs: Outputs, confidence: npt.NDArray[Any],
    temperature: float | None = None, class_means: ClassMeans | None = None,
) -> npt.NDArray[Any] | str:  # fmt: skip
    """Return a model's score by datapoint of one set, or the reason in words why it has none."""
    if score is Uncertainty.CONFIDENCE:
        return confidence
    if score is Uncertainty.CLASS_MEANS:
        if class_means is None:
            return "no labelled features: name a dataset as score_comparison.class_means"
        if outputs.features is None:
            return "no features on file: add features to inference.outputs"
        return class_means.nearness(outputs.features)
    logits, probabilities = outputs.logits, outputs.probabilities
    if score in (Uncertainty.MARGIN, Uncertainty.ENTROPY):
        if probabilities is None:
            return _NO_LOGITS
        if probabilities.shape[1] < 2:
            return "needs two classes or more"
        return (margin if score is Uncertainty.MARGIN else certainty)(probabilities)
    if logits is None:
        return _NO_LOGITS
    if score is Uncertainty.ENERGY:
        return energy(logits)
    if temperature is None:
        return "no validation data to fit a temperature on"
    return np.asarray(softmax(logits, temperature).max(axis=1))


RANKS, AS_IS = "ranks", "as is"
_UNBOUNDED = (Uncertainty.ENERGY, Uncertainty.CLASS_MEANS)
_SINGLE = tuple(score for score in Uncertainty if score is not Uncertainty.VOTE_SHARE)
_PARTS = (
    "confidence_part", "confidence_low", "confidence_high", "conditional_part", "conditional_low",
    "conditional_high",
)  # fmt: skip
_REFERENCE = (
    "same_size_gap", "same_size_matched_gap", "same_size_narrowing", "reference_gap",
    "reference_matched_gap", "reference_narrowing", "excess_narrowing",
)  # fmt: skip


def _means_on_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Average the rows of matchings on ranks over models, by matching and score."""
    ranked = table[table["scale"] == RANKS]
    by_matching = [ranked[ranked["matching"] == name] for name in ranked["matching"].unique()]
    groups = pd.concat(by_matching).groupby(["matching", "score"], sort=False)
    means = groups[["gap", "matched_gap", *_PARTS, "fraction_unmatched", *_REFERENCE]].mean()
    narrowings = {  # of the mean gaps
        f"{kind}_narrowing": 1 - means[f"{kind}_matched_gap"] / means[f"{kind}_gap"]
        for kind in ("same_size", "reference")
    }
    warned = groups["confidence_low"].agg(lambda low: (low > 0).sum())
    return means.assign(
        models=groups["matched_gap"].count(), warned=warned, reason=groups["reason"].max(),
        **narrowings,
    ).reset_index()  # fmt: skip


SCHEMA = TableSchema(
    "gaps by uncertainty score",
    *compared_models.MATCHED_MODEL,
    text("score", "what datapoints are compared by", label=LABELS.get),
    text("scale", "ranks: comparable between scores; as is: its values"),
    Column("temperature", pa.float64(), "1", "fitted temperature; NaN for other scores"),
    fraction("gap", "accuracy on the original minus on the replication"),
    fraction("matched_gap", "gap of the matched subsets, mean over seeds"),
    fraction("matched_gap_std", "its standard deviation over seeds (ddof = 1)"),
    fraction("matched_gap_se", "its standard error, given scores and picks"),
    *interval("matched_gap"),
    fraction("fraction_unmatched", "unmatched target points over all, mean over seeds"),
    fraction("confidence_part", "part of gap that the score explains, in bins of it"),
    *interval("confidence"),
    fraction("conditional_part", "part of gap at equal score, in bins of it"),
    *interval("conditional"),
    *(column for column in GAP_QUANTITIES if column.name in _REFERENCE),
    text("reason", "why values are NaN; empty if none is"),
    summary=_means_on_ranks,
    shown={
        "Matching": "{matching}", "Score, on ranks": "{score}", "Models": "{models:d}",
        "Gap": "{gap:+.2%}", "Matched gap": "{matched_gap:+.2%}",
        "Part it explains": "{confidence_part:+.2%}", "Above 0": "{warned:d}",
        "Conditional part": "{conditional_part:+.2%}", "Unmatched (%)": "{fraction_unmatched:.1%}",
        "Smaller by": "{same_size_narrowing:.0%}",
        "Without warning": "{reference_narrowing:.0%}", "Remark": "{reason}",
    },
)  # fmt: skip


def tabulate(
    compared: ComparedModels, *, ensembles: Mapping[str, Sequence[str]] | None = None,
    validation: Mapping[str, Mapping[str, Any]] | None = None,
    class_means: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate gaps of every model matched on every score, and of ensembles on their vote shares.

    `ensembles` are names of models by ensemble; the others are arguments of `_read_outputs` by
    model, for the set that a temperature or class means are fitted on.
    """
    rows: list[dict[str, Any]] = []
    for comparison, files in zip(compared.comparisons, compared.files, strict=True):
        outputs = {origin: _read_outputs(file.path, file.layout) for origin, file in files.items()}
        source = outputs["original" if comparison.source_is_original else "replication"]
        temperature = means = None
        if validation and source.logits is not None:
            labelled = _read_outputs(**validation[comparison.model])
            if labelled.logits is not None and labelled.labels is not None:
                temperature = fit_temperature(labelled.logits, labelled.labels)
        if class_means and source.features is not None:
            means = ClassMeans.fit(_read_outputs(**class_means[comparison.model]))
        for score in _SINGLE:
            scores = {
                origin: compute_score(score, outputs[origin], side.probability, temperature, means)
                for origin, side in _predictions_by_origin(comparison).items()
            }
            shown = temperature if score is Uncertainty.TEMPERATURE else None
            rows += _score_rows(compared, comparison, score, scores, shown)
    by_name = {comparison.model: comparison for comparison in compared.comparisons}
    for name, members in (ensembles or {}).items():
        comparison, shares = _vote(name, [by_name[member] for member in members])
        rows += _score_rows(compared, comparison, Uncertainty.VOTE_SHARE, shares)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _predictions_by_origin(comparison: Comparison) -> dict[str, Predictions]:
    """Return the predictions on both sets by origin, those on the source first."""
    sides = {"original": comparison.original, "replication": comparison.replication}
    return sides if comparison.source_is_original else dict(reversed(sides.items()))


def _read_outputs(path: str | Path, layout: Layout | Mapping[str, Any]) -> Outputs:
    layout = layout if isinstance(layout, Layout) else Layout(**layout)
    return read_user_file(path, layout=layout).outputs


def _vote(name: str, members: Sequence[Comparison]) -> tuple[Comparison, dict[str, Floats]]:
    """Return an ensemble's majority predictions on both sets, and their vote shares by origin."""
    sets, shares = {}, {}
    for origin, first in _predictions_by_origin(members[0]).items():
        predicted = [getattr(member, origin).prediction for member in members]
        majority, shares[origin] = majority_vote(predicted)
        probability = shares[origin].astype(np.float32)
        sets[origin] = replace(first, prediction=majority, probability=probability, metadata={})
    return Comparison(name, members[0].pair, **sets), shares


def _score_rows(
    compared: ComparedModels, comparison: Comparison, score: Uncertainty,
    scores: Mapping[str, Any], temperature: float | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Match on a model's scores, if it has them; yield a row for each matching and scale."""
    reasons = [reason for reason in scores.values() if isinstance(reason, str)]
    sets: dict[str, Any] = {}
    if not reasons:
        sides = _predictions_by_origin(comparison)
        sets = {origin: replace(side, probability=scores[origin]) for origin, side in sides.items()}
    parts: dict[str, dict[str, float]] = {}  # of the gap, by scale: the same for all matchings
    for name, method in compared.methods.items():
        for scale in (RANKS,) if score in _UNBOUNDED else (RANKS, AS_IS):
            row = MatchedModel(comparison, name, method, {}).identity | {
                "score": score.value, "scale": scale, "gap": comparison.gap,
                "temperature": float("nan") if temperature is None else temperature,
            }  # fmt: skip
            if reasons:
                yield row | {"reason": reasons[0]}
                continue
            score_on = Score.CONFIDENCE_RANK if scale == RANKS else Score.CONFIDENCE
            on_scale = method.model_copy(update={"score": score_on})
            scored = replace(comparison, **sets)
            quantities = _gap_columns(compared, scored, name, on_scale, parts.get(scale))
            parts[scale] = {key: quantities[key] for key in _PARTS}
            yield row | quantities


def _gap_columns(
    compared: ComparedModels, comparison: Comparison, name: str, method: MatchingMethod,
    parts: Mapping[str, float] | None,
) -> dict[str, Any]:  # fmt: skip
    """Match a model once per seed, with the study's random numbers; return its gaps by column."""
    measured = method.score.measure(comparison.source, comparison.target, method.epsilon)
    sets = SortedSets.of_scores(comparison.source, comparison.target, method.criterion, measured)
    matched = MatchedModel.of(comparison, method, compared.seeds, name, sets.plan)
    source = Scored(measured.source, comparison.source.correct)
    target = Scored(measured.target, comparison.target.correct)
    terms = error_terms(source, target, matched.rows)
    reference = no_warning_reference(comparison, method).columns
    estimate = compared_models.error_of_model(matched, compared.blocks, terms)
    parts = parts or decompose(
        source, target, source_is_original=comparison.source_is_original, blocks=compared.blocks,
        level=compared.pair.confidence,
    ).parts  # fmt: skip
    return {
        **vars(estimate), **parts, **{key: reference[key] for key in _REFERENCE},
        "matched_gap_std": compared_models.std_of_defined(matched.matched_gaps),
        "fraction_unmatched": float(matched.fractions_unmatched.mean()),
    }  # fmt: skip


def plot(table: pd.DataFrame, confidence: float = LEVEL) -> "style.Figure":
    """Plot matched gaps and unmatched shares of every model on every score, and their means."""
    ranked = table[table["scale"] == RANKS]
    matchings = ranked["matching"].unique().tolist()
    scores = [score for score in Uncertainty if score in set(ranked["score"])]
    models = _single_model_rows(ranked)["model"].nunique()
    label = "mean over models" if models > 1 else f"matched gap, {level_text(confidence)} interval"
    size = 1.2 + 0.82 * style.COLUMN_WIDTH * len(matchings), 1.6 + 0.2 * len(scores)
    title = f"{table['pair'].iloc[0]}: matched by different scores, {counted(models, 'model')}"
    with drawing(*size, title) as figure:
        axes = figure.subplots(1, 2 * len(matchings), sharey=True, squeeze=False)[0]
        for number, matching in enumerate(matchings):
            gaps, unmatched = axes[2 * number : 2 * number + 2]
            rows = ranked[ranked["matching"] == matching]
            for panel, column, look in (
                (gaps, "matched_gap", style.MATCHED_GAP),
                (unmatched, "fraction_unmatched", style.UNMATCHED),
            ):
                if models > 1:
                    values = (100 * rows.loc[rows["score"] == score, column] for score in scores)
                    by_row = enumerate(of_score.to_numpy(np.float64) for of_score in values)
                    draw_rows(panel, dict(by_row), look.color)
                means = rows.groupby("score").mean(numeric_only=True).reindex(scores)
                bounds = "none" if models > 1 else column
                intervals(panel, means, [Series(column, look, label, bounds)])
            mean_gap = 100 * _single_model_rows(rows)["gap"].mean()
            gaps.axvline(mean_gap, label="gap of all datapoints", **style.REFERENCE)
            style.draw_zero(gaps, upright=True)
            gaps.set_xlabel("Matched gap (points)")
            style.legend_above(gaps, title=matching_label(matching), fontsize=style.NOTE_SIZE)
            unmatched.set_xlabel("Unmatched (%)")
        name_rows(axes[0], [LABELS[score] for score in scores])
    return figure


def _single_model_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one score, confidence, which single models have and ensembles have not."""
    return table[table["score"] == Uncertainty.CONFIDENCE]


class ScoreComparisonSettings(PairTableSettings):
    """Pairs that are matched on several uncertainty scores, and what the scores are fitted on."""

    validation: DatasetName | None = Field(
        None, description="Dataset that a temperature is fitted on; no set of the pairs"
    )
    class_means: DatasetName | None = Field(
        None, description="Dataset of labelled features for class means, such as training images"
    )
    ensembles: Named[SomeUnique[ModelName]] = Field(
        {}, description="Models whose votes are counted, by name of the ensemble"
    )


class ScoreComparison(PairTableAnalysis):
    """Compare the gaps of every model when it is matched on several uncertainty scores."""

    name: ClassVar[str] = "score_comparison"
    caption: ClassVar[str] = (
        "Matched gap and share of unmatched targets on **{{ snakemake.wildcards.pair }}**, with "
        "datapoints matched on the pooled ranks of several uncertainty scores. Small points are "
        "models, large ones means over models; dashed is the mean gap of all datapoints."
    )
    Settings: ClassVar[type[ScoreComparisonSettings]] = ScoreComparisonSettings
    settings: ScoreComparisonSettings
    has_figure: ClassVar[bool] = True

    def check(self) -> None:
        """Check the members of ensembles, and the datasets that scores are fitted on."""
        super().check()
        for name, members in self.settings.ensembles.items():
            field = self.field("ensembles", name)
            if left_out := [member for member in members if member not in self.models]:
                raise configuration_error(f"'{left_out[0]}' is left out", field=field)
            if name in self.study.models:
                raise configuration_error(f"'{name}' is a model, too", field=field)
        for name, dataset in self._fitting_sets.items():
            field = self.field(name)
            if not self.study.datasets[dataset].has_probabilities:
                raise configuration_error(f"'{dataset}' has no prediction files", field=field)
            for pair in self.settings.pairs:
                if dataset in self.study.pairs[pair].datasets.values():
                    remedy = "Name a dataset that is in neither set"
                    problem = f"'{dataset}' is a set of pair '{pair}'"
                    raise configuration_error(problem, field=field, remedy=remedy)

    @property
    def _fitting_sets(self) -> dict[str, str]:
        """Labelled datasets that a temperature or class means are fitted on, by setting."""
        sets = {name: getattr(self.settings, name) for name in ("validation", "class_means")}
        return {name: dataset for name, dataset in sets.items() if dataset is not None}

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Datasets that a temperature or class means are fitted on, which need predictions."""
        names = [name for name in self._fitting_sets.values() if name in self.study.datasets]
        return tuple(dict.fromkeys(names)) if self.settings.pairs else ()

    @property
    def runs_per_seed(self) -> int:
        """66: six scores on ranks, four as they are, and the splits of their references."""
        return 66

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return a pair's input files, and predictions on datasets that scores are fitted on."""
        further = [self.study.results_inputs(name, self.models) for name in self.evaluated]
        return list(dict.fromkeys(chain(super().inputs(wildcards), *further)))

    def subject_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments `validation` and `class_means` of `tabulate`: prediction files."""
        return {
            name: {
                model: {
                    "path": self.study.predictions_file(dataset, model),
                    "layout": asdict(layout_of(self.study.datasets[dataset])),
                }
                for model in self.models
            }
            for name, dataset in self._fitting_sets.items()
        }
