"""Small image classifiers for any image shape and number of classes, and their checkpoints.

This file imports no torch, so that configuration can be checked in no time.
"""

ARCHITECTURES = ("linear", "mlp", "cnn", "resnet")
