from matcheval.api.comparing import ComparisonResult as ComparisonResult
from matcheval.api.comparing import GapEstimate as GapEstimate
from matcheval.api.comparing import compare as compare
from matcheval.api.evaluating import evaluate as evaluate
from matcheval.api.few_label_results import AccuracyDifference as AccuracyDifference
from matcheval.api.few_label_results import AccuracyEstimate as AccuracyEstimate
from matcheval.api.few_labels import estimate_accuracy as estimate_accuracy
from matcheval.api.few_labels import estimate_difference as estimate_difference
from matcheval.api.few_labels import estimate_gap as estimate_gap
from matcheval.api.inputs import Estimate as Estimate
from matcheval.api.inputs import InputWarning as InputWarning
from matcheval.api.label_plans import LabelPlan as LabelPlan
from matcheval.api.label_plans import label_plan as label_plan
from matcheval.api.matching import MatchResult as MatchResult
from matcheval.api.matching import match as match
from matcheval.api.one_set import ModelComparison as ModelComparison
from matcheval.api.one_set import compare_models as compare_models
from matcheval.api.predicting import AccuracyPredictions as AccuracyPredictions
from matcheval.api.predicting import PredictedAccuracy as PredictedAccuracy
from matcheval.api.predicting import predict_accuracy as predict_accuracy
from matcheval.api.replicating import ReplicationFit as ReplicationFit
from matcheval.api.replicating import ReplicationResult as ReplicationResult
from matcheval.api.replicating import replication_table as replication_table
from matcheval.errors import InputError as InputError
from matcheval.version import __version__ as __version__

__all__: list[str]
