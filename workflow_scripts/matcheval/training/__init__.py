"""Training by recipe: losses, augmentations, schedules and the loop.

This file imports no torch, so that configuration can be checked in no time.
"""

# Raised by hand when an edit changes what training gives. Training is run by a `shell:` rule,
# which re-runs when its parameters change and takes no notice of the library; the rule's
# parameters hold this number. Edits that change no result leave it, and save the training.
TRAINING_VERSION = 2

LOSSES = (
    "cross_entropy",
    "focal",
    "brier",
    "label_smoothing",
    "mmce",
    "focal_sample_dependent",
    "mmce_weighted",
)
AUGMENTATIONS = (
    "none",
    "shift",
    "noise",
    "cutout",
    "mixup",
    "basic",
    "basic_mixup",
    "basic_cutmix",
    "basic_ricap",
)
SCHEDULES = ("constant", "cosine", "step", "warmup_cosine", "multistep", "onecycle")
# Those that begin with a warm-up of their own.
WARM_SCHEDULES = ("warmup_cosine", "onecycle")
NORMALIZATIONS = ("none", "channels")
DECAYED = ("all", "weights")
PRECISIONS = ("fp32", "bf16", "fp16")
