"""Zero-shot classifiers: CLIP, whose classes are texts (Radford et al. 2021, arXiv 2103.00020)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from matcheval.datasets.label_spaces import are_wnids, imagenet_classes
from matcheval.errors import InputError, listed
from matcheval.io.user_files import read_yaml
from matcheval.models.devices import repeatable_arithmetic
from matcheval.models.rows import TEMPLATE_SETS, ModelSource, templates_of


class ZeroShotClassifier(nn.Module):
    """An image encoder, and a linear head: scaled embeddings of the classes (n_classes, d)."""

    def __init__(self, encoder: nn.Module, classes: Tensor) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(classes.shape[1], classes.shape[0], bias=False, device=classes.device)
        self.head.weight = nn.Parameter(classes, requires_grad=False)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits (n, n_classes) of images."""
        logits: Tensor = self.head(functional.normalize(self.encoder(images), dim=-1))
        return logits


def zero_shot_classifier(
    model: nn.Module, source: ModelSource, names: Sequence[str], device: str
) -> ZeroShotClassifier:
    """Make a model of open_clip a classifier of named classes; their texts are embedded here."""
    import open_clip

    architecture, prompts = source.source.partition(":")[0], source.options["prompts"]
    is_set = prompts in TEMPLATE_SETS
    templates = getattr(open_clip, TEMPLATE_SETS[prompts]) if is_set else templates_of(prompts)
    clip: Any = model.to(device).eval()
    with repeatable_arithmetic(torch.get_num_threads(), strict=device == "cpu"), torch.no_grad():
        # Embeddings of length 1, their mean over templates, and this to length 1 again.
        embedded = open_clip.build_zero_shot_classifier(
            clip, open_clip.get_tokenizer(architecture), names, templates, device=device
        )
        return ZeroShotClassifier(clip.visual, (clip.logit_scale.exp() * embedded.T).contiguous())


def names_of_classes(source: ModelSource, classes: Sequence[str], dataset: str) -> list[str]:
    """Return what a zero-shot classifier calls the classes of a dataset, in their order."""
    file = source.options["class_names"]
    if file:
        names = {str(name): str(text) for name, text in read_yaml(file).items()}
    elif are_wnids(classes):
        from open_clip import IMAGENET_CLASSNAMES

        names = dict(zip(imagenet_classes(), IMAGENET_CLASSNAMES, strict=True))
    else:
        names = {name: name for name in classes}
    if missing := [name for name in classes if name not in names]:
        problem = f"no words for {listed(missing)} in the prompts of model {source.name}"
        remedy = "Name a YAML file of lines `class: words` in the catalogue's column class_names"
        where = file or dataset
        raise InputError(problem, file=where, field=None if file else "classes", remedy=remedy)
    return [names[name] for name in classes]
