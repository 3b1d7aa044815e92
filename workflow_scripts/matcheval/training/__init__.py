"""Training by recipe: losses, augmentations, schedules and the training loop.

This file does not import torch, so that configurations are checked quickly.
"""

import hashlib

# Increase it by hand when an edit changes the result of training. A `shell:` rule runs the
# training; Snakemake runs such a rule again when its parameters change, but does not see changes of
# the library. The rule's parameters therefore contain this number. An edit that changes no result
# leaves the number alone, and no model is trained again. `tests/unit/test_versions.py` tells
# the two apart.
TRAINING_VERSION = 2

LOSSES = (
    "cross_entropy", "focal", "brier", "label_smoothing", "mmce", "focal_sample_dependent",
    "mmce_weighted", "mmce_mukhoti", "mmce_weighted_mukhoti",
)  # fmt: skip
AUGMENTATIONS = (
    "none", "shift", "noise", "cutout", "mixup", "basic", "basic_mixup", "basic_cutmix",
    "basic_ricap",
)  # fmt: skip
# Augmentations that mix images of several classes.
MIXING_AUGMENTATIONS = ("mixup", "basic_mixup", "basic_cutmix", "basic_ricap")
SCHEDULES = ("constant", "cosine", "step", "warmup_cosine", "multistep", "onecycle")
# Schedules that begin with a built-in warm-up.
WARM_SCHEDULES = ("warmup_cosine", "onecycle")
NORMALIZATIONS = ("none", "channels", "half", "imagenet")
DECAYED = ("all", "weights")
PRECISIONS = ("fp32", "bf16", "fp16")
# Which weights of a training are saved.
KEPT = ("last", "best")


def derived_seed(*parts: str | int) -> int:
    """Derive a 63-bit seed from names and numbers: SHA-256 of their joined text."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
