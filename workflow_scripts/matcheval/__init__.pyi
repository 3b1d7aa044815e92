from matcheval.accuracy_prediction.recommendation import Recommendation as Recommendation
from matcheval.api.comparing import MatchResult as MatchResult
from matcheval.api.comparing import compare as compare
from matcheval.api.comparing import match as match
from matcheval.api.comparing_models import ModelComparison as ModelComparison
from matcheval.api.comparing_models import compare_models as compare_models
from matcheval.api.comparison import ComparisonResult as ComparisonResult
from matcheval.api.evaluating import evaluate as evaluate
from matcheval.api.predicting import AccuracyPredictions as AccuracyPredictions
from matcheval.api.predicting import PredictedAccuracy as PredictedAccuracy
from matcheval.api.predicting import predict_accuracy as predict_accuracy
from matcheval.api.replicating import ReplicationFit as ReplicationFit
from matcheval.api.replicating import ReplicationResult as ReplicationResult
from matcheval.api.replicating import replication_table as replication_table
from matcheval.errors import InputError as InputError
from matcheval.errors import InputWarning as InputWarning
from matcheval.few_labels.accuracy import AccuracyEstimate as AccuracyEstimate
from matcheval.few_labels.accuracy import estimate_accuracy as estimate_accuracy
from matcheval.few_labels.differences import AccuracyDifference as AccuracyDifference
from matcheval.few_labels.differences import estimate_difference as estimate_difference
from matcheval.few_labels.differences import estimate_gap as estimate_gap
from matcheval.few_labels.plans import LabelPlan as LabelPlan
from matcheval.few_labels.plans import label_plan as label_plan
from matcheval.predictions.inputs import Estimate as Estimate
from matcheval.predictions.inputs import GapEstimate as GapEstimate
from matcheval.protocol.verdicts import Claim as Claim
from matcheval.protocol.verdicts import Verdict as Verdict

__version__: str
__all__: list[str]
