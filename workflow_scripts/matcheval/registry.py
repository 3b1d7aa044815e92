"""The registry of analyses: one line each. CONTRIBUTING.md tells how to add one."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matcheval.study.analysis import Analysis

# In the order they are loaded and run: an analysis can build upon those above it.
_CLASSES = (
    "analyses.sampling.analysis.Sampling",
    "analyses.warehouse.Warehouse",
    "analyses.features.Features",
    "protocol.analysis.Matching",
    "replication.analysis.Replication",
    "analyses.near_duplicates.NearDuplicates",
    "analyses.hard_images.HardImages",
    "analyses.human_accuracy.HumanAccuracy",
    "analyses.class_balanced.ClassBalanced",
    "analyses.selection_frequency.SelectionFrequency",
    "analyses.groups.Groups",
    "analyses.shared_errors.SharedErrors",
    "analyses.revisions.Revisions",
    "analyses.difficulty.Difficulty",
    "analyses.effective_robustness.EffectiveRobustness",
    "analyses.retraining.Retraining",
    "domain_generalization.analysis.DomainGeneralization",
    "analyses.suite_accuracies.SuiteAccuracies",
    "analyses.severity.Severity",
    "few_labels.analysis.FewLabels",
    "accuracy_prediction.analysis.AccuracyPrediction",
    "analyses.mcnemar.McNemar",
    "analyses.paired_gaps.PairedGaps",
    "analyses.epsilon_sweep.EpsilonSweep",
    "analyses.class_gaps.ClassGaps",
    "analyses.calibration.Calibration",
    "analyses.label_audits.LabelAudits",
    "analyses.score_comparison.ScoreComparison",
    "analyses.published_values.PublishedValues",
)


def _load_class(path: str) -> "type[Analysis]":
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"matcheval.{module}"), name)


ANALYSES: "tuple[type[Analysis], ...]" = tuple(map(_load_class, _CLASSES))
