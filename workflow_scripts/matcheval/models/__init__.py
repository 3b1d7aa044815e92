"""Image classifiers and their checkpoints.

This file imports no torch, so that configuration can be checked in no time.
"""

from matcheval.models.sizes import ARCHITECTURES, FAMILIES

__all__ = ["ARCHITECTURES", "FAMILIES"]
