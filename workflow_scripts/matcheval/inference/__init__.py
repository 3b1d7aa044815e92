"""Inference: one forward pass over a dataset, and what is kept of it.

This file imports no torch, so that configuration can be checked in no time.
"""

# Raised by hand when an edit changes what inference gives; as `training.TRAINING_VERSION`.
INFERENCE_VERSION = 1

# What a forward pass can be written as; how to add one is told in `inference.outputs`.
OUTPUTS = ("predictions", "logits")
