"""Inference: one forward pass of a model over a dataset, and the outputs that are kept.

This file imports no torch, so that checking a configuration stays fast.
"""

# Increase by hand when an edit changes the outputs of inference, as `training.TRAINING_VERSION`.
INFERENCE_VERSION = 4

# The outputs of a forward pass, and the suffix that each adds to the model's name to form a file
# name; `inference.outputs` explains how to add one.
OUTPUT_SUFFIXES = {
    "predictions": ".parquet",
    "logits": ".logits.parquet",
    "features": ".features.parquet",
    "statistics": ".statistics.npz",
    "top": ".top.parquet",
}
OUTPUTS = tuple(OUTPUT_SUFFIXES)

# Default number of classes that the output `top` keeps per datapoint.
N_TOP = 5
