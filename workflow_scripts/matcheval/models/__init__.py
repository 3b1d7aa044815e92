"""Image classifiers: architectures, checkpoints, pretrained models and transforms.

This file does not import torch, so that configurations are checked quickly.
"""

from matcheval.models.sizes import ARCHITECTURES, FAMILIES, WAREHOUSE_FAMILIES

__all__ = ["ARCHITECTURES", "FAMILIES", "WAREHOUSE_FAMILIES"]
