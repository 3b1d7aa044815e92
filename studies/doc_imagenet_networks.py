"""ResNet-50 by DeepAugment, AugMix and both: models of kind `callable` of doc-imagenet.yaml.

Their authors publish the weights as files of torch (github hendrycks/imagenet-r and
google-research/augmix link to them), which have to be put into data/imagenet/weights/.
"""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torchvision.models import ResNet50_Weights, resnet50

WEIGHTS = Path("data/imagenet/weights")


def published(file: str) -> tuple[nn.Module, Any]:
    """Build a ResNet-50 and load its weights; return it with torchvision's transform."""
    saved = torch.load(WEIGHTS / file, map_location="cpu", weights_only=True)
    # Weights were saved from several GPUs, which adds a prefix to each name.
    state = {name.removeprefix("module."): v for name, v in saved.get("state_dict", saved).items()}
    model = resnet50()
    model.load_state_dict(state)
    return model, ResNet50_Weights.IMAGENET1K_V1.transforms()


deepaugment = partial(published, "deepaugment.pth.tar")
augmix = partial(published, "augmix.pth.tar")
deepaugment_and_augmix = partial(published, "deepaugment_and_augmix.pth.tar")
