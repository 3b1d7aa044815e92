"""What the columns and arrays of prediction files are called, by us and by other tools.

Names are compared without regard to case, spaces and punctuation: `Ground Truth`, `groundTruth` and
`ground_truth.label` are alike.
"""

import re
from functools import lru_cache
from typing import Literal

Kind = Literal["logits", "probabilities"]
KINDS: tuple[Kind, Kind] = ("logits", "probabilities")
COLUMNS = ("index", "label", "prediction", "probability", *KINDS)

# Truth in some files, and the prediction in others: in the output of timm and of pipelines.
EITHER = (
    "label", "label_id", "class", "class_id", "class_label", "class_name", "label_name", "category",
)  # fmt: skip
# Further names of single values per datapoint, those that are taken first at the beginning.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "label": (
        "labels", "target", "targets", "true_label", "true_labels", "y_true", "truth", "true",
        "ground_truth", "ground_truth_label", "gt", "gt_label", "gts", "true_class", "actual",
        "actual_label", "actual_class", "label_true", "target_label", "target_class",
        "correct_label", "expected", "y", "y_test", "label_ids", "targs", *EITHER[1:],
    ),
    "prediction": (
        "predictions", "pred", "preds", "y_pred", "y_hat", "yhat", "predicted", "predicted_label",
        "predicted_labels", "predicted_class", "prediction_label", "predictions_label",
        "pred_label", "pred_labels", "pred_class", "pred_id", "pred_idx", "top1", "top_1",
        "top1_class", "top1_label", "top1_pred", "argmax", "label_pred", "guess",
        "model_prediction", "output_label", "scored_labels",
    ),
    "probability": (
        "probabilities", "prob", "probs", "score", "scores", "confidence", "confidences", "conf",
        "max_prob", "max_probs", "max_probability", "p_max", "msp", "max_softmax", "pred_prob",
        "pred_score", "pred_conf", "predicted_probability", "prediction_score",
        "prediction_probability", "prediction_confidence", "predictions_confidence",
        "predictions_score", "top1_prob", "top1_score", "top1_confidence", "y_conf", "certainty",
        "prediction",  # of Weka, beside `predicted`
    ),
}  # fmt: skip
# Of these, single values are by convention the probability of class 1 of two.
OF_CLASS_1 = ("y_prob", "y_proba", "y_score", "positive_probability", "prob_positive", "proba")
# Datapoints, by what is unlike in all of them.
KEYS = (
    "idx", "id", "image_id", "sample_id", "datapoint_id", "example_id", "doc_id", "uid", "uuid",
    "key", "filename", "file_name", "filepath", "file_path", "path", "image_path", "image_file",
    "img_path", "image", "img", "image_name", "file", "name", "row_id", "datapoint",
)  # fmt: skip
# Rows of several models, parts of a set or epochs, where it has several values.
POOLED = (
    "model", "model_name", "checkpoint", "arch", "seed", "split", "fold", "subset", "partition",
    "dataset", "epoch",
)  # fmt: skip
# Of the model on this set, as a single number.
ACCURACIES = ("acc", "accuracy", "test_acc", "test_accuracy", "top1_acc", "top1_accuracy")
# Scores of all classes: lists, arrays of two dimensions. Others follow from their values.
MATRICES: dict[str, Kind | None] = {
    **dict.fromkeys((
        "logits", "logit", "raw_logits", "predictions_logits", "log_probs", "log_prob", "logprobs",
        "log_softmax", "log_probabilities",
    ), "logits"),
    **dict.fromkeys((
        "probabilities", "probs", "prob", "probability", "softmax", "softmaxes", "y_prob",
        "y_proba", "proba", "probas", "pred_probs", "class_probabilities", "softmax_scores",
    ), "probabilities"),
    **dict.fromkeys((
        "scores", "score", "outputs", "output", "y_score", "y_scores", "preds", "pred",
        "prediction", "predictions", "y_pred", "y_hat", "model_output", "class_scores",
        "pred_scores", "confidences", "confidence",
    )),
}  # fmt: skip
# What columns of single classes begin with; the number or name of the class follows.
PREFIXES: dict[str, Kind | None] = {
    **dict.fromkeys(("logits", "logit"), "logits"),
    **dict.fromkeys(
        ("scored probabilities", "probability", "proba", "probs", "prob", "softmax", "p"),
        "probabilities",
    ),
    **dict.fromkeys(("scores", "score", "outputs", "output", "confidence", "pred", "class"), None),
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PREFIXED = re.compile(rf"({'|'.join(PREFIXES)})[ _.:\-\[(]+(.+?)[\])]?", re.IGNORECASE | re.DOTALL)
_ROLES = {name: role for role, names in SYNONYMS.items() for name in (role, *names)}
_READ = {*COLUMNS, *_ROLES, *MATRICES, *KEYS, *OF_CLASS_1, *ACCURACIES}


@lru_cache(maxsize=1 << 14)
def snake_case(name: str) -> str:
    """Return a name in snake case without HDF5's groups: `ground_truth` for `test/groundTruth`."""
    own = name.strip().rpartition("/")[2]
    return re.sub(r"[\W_]+", "_", _CAMEL.sub("_", own).casefold()).strip("_")


def standard_name(name: str) -> str:
    """Return our name of a column, such as `label` for `Ground Truth`; an unknown one as it is."""
    small = snake_case(name)
    return small if small in COLUMNS else MATRICES.get(small) or _ROLES.get(small, name)


def array_name_in_stem(stem: str) -> str | None:
    """Return the longest part of a file's stem that can name an array: `logits` of `val_logits`."""
    words = snake_case(stem).split("_")
    spans = [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    spans.sort(key=lambda span: span[0] - span[1])
    parts = ("_".join(words[i:j]) for i, j in spans)
    return next(
        (part for part in parts if part in MATRICES or standard_name(part) in COLUMNS), None
    )


def is_known_column(name: str) -> bool:
    """Whether a column of this name can be of use in a prediction file."""
    return snake_case(name) in _READ or split_prefix(name) is not None


def split_prefix(name: str) -> tuple[str, str] | None:
    """Split the name of a column with the scores of one class: `prob_cat` into `prob` and `cat`."""
    match = _PREFIXED.fullmatch(name.strip())
    return (match[1].casefold(), match[2]) if match else None
