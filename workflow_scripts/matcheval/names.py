"""Names of models, datasets, pairs and studies, which become parts of file names."""

import re

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
MODEL_PATTERN = r"\{model\}"  # in paths of files, a file per model
MAX_NAME_LENGTH = 100
PREDICTIONS_KIND = "predictions"  # of dataset
PREDICTION_SUFFIXES = (
    ".parquet",
    ".csv",
    ".tsv",
    ".csv.gz",
    ".tsv.gz",
    ".npz",
    ".json",
    ".jsonl",
    ".jsonl.gz",
)  # of its files
_NAME = re.compile(NAME_PATTERN.removeprefix("^").removesuffix("$"))


def is_name(text: str) -> bool:
    """Whether a text can be a name, and part of a file name."""
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None
