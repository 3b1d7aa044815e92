"""What a matching says of the gap of one model, or of the mean over several."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matcheval.protocol.compared_models import mean_of_defined
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.gap_terms import gap_terms
from matcheval.protocol.no_warning import NoWarning, mean_reference, no_warning_reference
from matcheval.protocol.runs import RunName, matched_rows, measure_runs
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import ErrorTerms, error_terms, mean_terms, pick_weights

_TERM_COLUMNS = (
    "accuracy_source", "matched_accuracy_source", "matched_accuracy_target",
    "unmatched_accuracy_target", "fraction_unmatched",
)  # fmt: skip


def scored(comparison: Comparison) -> tuple[Scored, Scored]:
    """Return confidences and correctness of the source and of the target."""
    source, target = comparison.source, comparison.target
    return Scored(source.probability, source.correct), Scored(target.probability, target.correct)


@dataclass(frozen=True, eq=False)
class ModelGap:
    """What a matching says of one model, or of the mean over several."""

    comparison: Comparison
    n_seeds: int
    n_matched: float
    fraction_unmatched: float
    unmatched_accuracy: float
    matched_gap: float
    source_selection: float
    dropped_targets: float
    errors: ErrorTerms
    one_sided: tuple[str, ...]
    reference: NoWarning
    n_models: int = 1
    n_reference: int = 1

    @classmethod
    def of(cls, comparison: Comparison, method: MatchingMethod, seeds: Sequence[int]) -> "ModelGap":
        """Match one model's predictions, and measure its reference."""
        source, target = comparison.source, comparison.target
        name = RunName(comparison.model, comparison.pair.name)
        rows = matched_rows(source, target, name, method, seeds)
        weights = pick_weights(rows, len(source))
        runs = measure_runs(source, target, rows)
        terms = gap_terms(
            source_is_original=comparison.source_is_original,
            **{column: [getattr(run, column) for run in runs] for column in _TERM_COLUMNS},
        )
        matched_gap, selection, dropped = (
            mean_of_defined(values)
            for values in (terms.matched_gap, terms.source_selection, terms.dropped_targets)
        )
        return cls(
            comparison=comparison,
            n_seeds=weights.n_seeds,
            n_matched=float(np.mean([run.n_matched for run in runs])),
            fraction_unmatched=float(np.mean([run.fraction_unmatched for run in runs])),
            unmatched_accuracy=mean_of_defined([run.unmatched_accuracy_target for run in runs]),
            matched_gap=matched_gap,
            source_selection=selection,
            dropped_targets=dropped,
            errors=error_terms(*scored(comparison), weights),
            one_sided=comparison.one_sided,
            reference=no_warning_reference(comparison, method),
        )


def mean_gap(models: Sequence[ModelGap]) -> ModelGap:
    """Average over models: errors by datapoint, references over the models that have one."""

    def mean(name: str) -> float:
        return mean_of_defined([getattr(model, name) for model in models])

    references = [model.reference for model in models if not model.reference.reason]
    one_sided = [set(model.one_sided) for model in models]
    return ModelGap(
        comparison=models[0].comparison,
        n_seeds=min(model.n_seeds for model in models),
        **{name: mean(name) for name in (
            "n_matched", "fraction_unmatched", "unmatched_accuracy", "matched_gap",
            "source_selection", "dropped_targets",
        )},
        errors=mean_terms([model.errors for model in models]),
        one_sided=tuple(sorted(set.intersection(*one_sided))),
        reference=mean_reference(references) if references else models[0].reference,
        n_models=len(models),
        n_reference=len(references),
    )  # fmt: skip
