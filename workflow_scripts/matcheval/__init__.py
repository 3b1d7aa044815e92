"""How a classifier really behaves on similar-but-non-identical test sets.

The library behind the workflow: pure functions over files and arrays that know nothing of
Snakemake. `evaluate`, `compare`, `compare_models`, `match`, `predict_accuracy`, `label_plan`,
`estimate_accuracy` and `replication_table` are for scripts and notebooks (docs/python.md); `import
matcheval` loads nothing, they are imported when they are used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"
# Where the public names are defined; their types are in `__init__.pyi`.
_NAMES = {
    "matcheval.api.comparing": ("MatchResult", "compare", "match"),
    "matcheval.api.comparison": ("ComparisonResult",),
    "matcheval.api.evaluating": ("evaluate",),
    "matcheval.few_labels.accuracy": ("AccuracyEstimate", "estimate_accuracy"),
    "matcheval.few_labels.differences": (
        "AccuracyDifference", "estimate_difference", "estimate_gap",
    ),
    "matcheval.predictions.inputs": ("Estimate", "GapEstimate"),
    "matcheval.few_labels.plans": ("LabelPlan", "label_plan"),
    "matcheval.api.comparing_models": ("ModelComparison", "compare_models"),
    "matcheval.api.predicting": ("AccuracyPredictions", "PredictedAccuracy", "predict_accuracy"),
    "matcheval.accuracy_prediction.recommendation": ("Recommendation",),
    "matcheval.protocol.verdicts": ("Claim", "Verdict"),
    "matcheval.api.replicating": ("ReplicationFit", "ReplicationResult", "replication_table"),
    "matcheval.errors": ("InputError", "InputWarning"),
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
