"""Inference: one forward pass over a dataset, and what is kept of it.

This file imports no torch, so that configuration can be checked in no time.
"""

# Raised by hand when an edit changes what inference gives; as `training.TRAINING_VERSION`.
INFERENCE_VERSION = 2

# What a forward pass can be written as, and how the file's name goes on after the model's; how to
# add one is told in `inference.outputs`.
OUTPUT_SUFFIXES = {
    "predictions": ".parquet",
    "logits": ".logits.parquet",
    "features": ".features.parquet",
    "statistics": ".statistics.npz",
    "top": ".top.parquet",
}
OUTPUTS = tuple(OUTPUT_SUFFIXES)

# How many first classes `top` keeps, unless said otherwise.
N_TOP = 5

# What to compute in; see `inference.precision`.
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")

AUTOMATIC = "auto"
"""The batch size that is chosen by image size and device."""
