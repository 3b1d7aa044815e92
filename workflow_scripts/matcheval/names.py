"""Names of models, datasets, pairs and studies, which become parts of file names."""

import re
from typing import Literal

# The two sets of a pair.
Origin = Literal["original", "replication"]
ORIGINS: tuple[Origin, Origin] = ("original", "replication")

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
MODEL = "{model}"
MODEL_PATTERN = r"\{model\}"  # in paths of files, a file per model
MAX_NAME_LENGTH = 100
PREDICTIONS_KIND = "predictions"  # of dataset
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
TEXT_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")  # which may be compressed
# Of files that hold predictions, whatever folder they are in.
_COMPRESSED_TEXTS = (f"{text}{packed}" for packed in COMPRESSED for text in TEXT_SUFFIXES)
PREDICTION_SUFFIXES = (
    ".parquet", *TEXT_SUFFIXES, ".npz", *_COMPRESSED_TEXTS, ".feather", ".arrow", ".xlsx",
)  # fmt: skip
# Of those that may hold anything else, too, and are read only where somebody names them.
NAMED_SUFFIXES = (
    ".npy", ".pt", ".pth", ".safetensors", ".h5", ".hdf5", ".txt", ".psv", ".ipc",
)  # fmt: skip
MAX_LABEL_LENGTH = 300  # ImageNet's longest class name, with all synonyms, has 123
# Line breaks and other control characters, and those that change the order of what follows.
_UNSHOWN = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NAME = re.compile(NAME_PATTERN.removeprefix("^").removesuffix("$"))


def is_name(text: str) -> bool:
    """Whether a text is a valid name of a model, dataset, pair or study."""
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a text, such as a class name, can be printed and is not too long."""
    return len(text) <= MAX_LABEL_LENGTH and not _UNSHOWN.search(text)
