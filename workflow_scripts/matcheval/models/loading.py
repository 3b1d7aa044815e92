"""Loading of models of every kind of catalogue row."""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from matcheval.datasets.dataset import Dataset, stored_shape
from matcheval.datasets.label_spaces import are_wnids, compare_classes, imagenet_classes
from matcheval.errors import InputError, listed, suggest
from matcheval.io.self_digests import verify_file
from matcheval.io.user_files import read_yaml
from matcheval.models import rows
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.devices import repeatable_arithmetic
from matcheval.models.networks import build_model, last_linear
from matcheval.models.packages import (
    load_timm,
    package_weights,
    pretrained_weights,
    timm_name,
)  # fmt: skip
from matcheval.models.published import describe_open_clip, describe_timm, describe_torchvision
from matcheval.models.rows import TEMPLATE_SETS, ModelSource, split_templates
from matcheval.models.transforms import NORMALIZATIONS, Transform


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model that is ready for inference, with its transform and classes."""

    module: nn.Module  # maps normalised float32 images (n, channels, height, width) to logits
    transform: Transform
    n_classes: int | None  # None if it is known only from the logits
    classes: tuple[str, ...] | None  # by label, the wnids for ImageNet's; None if unknown
    description: str  # for the provenance of predictions

    @cached_property
    def weights_sha256(self) -> str:
        """SHA-256 of its weights (see `state_digest`)."""
        return state_digest(self.module.state_dict())


def state_digest(state: Mapping[str, Tensor]) -> str:
    """Compute the SHA-256 of weights: name, dtype, shape and bytes of each tensor, by name."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        dtype = str(tensor.dtype).removeprefix("torch.")
        digest.update(f"{name} {dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_callable_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Load a model from the user's function, which returns a module, or also its transform."""
    module_name, _, name = source.source.partition(":")
    folder = os.getcwd()  # noqa: PTH109
    if folder not in sys.path:  # Python does not add it for the installed command
        sys.path.insert(0, folder)
    try:
        function = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        problem = f"cannot import '{name}' from '{module_name}' ({error})"
        raise InputError(problem, file=source.name, field="source") from error
    built = function()
    module, transform = built if isinstance(built, tuple) and len(built) == 2 else (built, None)
    if not isinstance(module, nn.Module):
        problem = f"'{source.source}' returned a {type(module).__name__}"
        remedy = "Return a torch.nn.Module, or a module and its transform"
        raise InputError(problem, file=source.name, remedy=remedy)
    if transform is None:
        transform = Transform.plain()
    elif isinstance(transform, Mapping):
        transform = Transform.from_data_config(transform)
    elif not isinstance(transform, Transform):
        transform = Transform.from_preset(transform)
    description = f"{source.source}, code {source.code_digest}"
    return LoadedModel(module, transform, None, None, description)


def load_trained_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a checkpoint that this workflow trained."""
    checkpoint = load_checkpoint(weights)
    info = checkpoint.info
    if source.kind == rows.TRAINED and info.model != source.name:
        problem = f"holds the weights of model '{info.model}', not of '{source.name}'"
        remedy = "Use the name that it was trained under, or train the model again"
        raise InputError(problem, file=weights, remedy=remedy)
    shape = stored_shape(dataset)
    if info.input_shape != shape or info.max_value != dataset.max_value:
        raise InputError(
            f"its images have shape {shape} and pixel values up to {dataset.max_value}, but model "
            f"{source.name} was trained on {info.input_shape} and {info.max_value}",
            file=dataset.name, remedy="Pair the model with a dataset of the same shape and range",
        )  # fmt: skip
    return LoadedModel(
        checkpoint.build(weights), Transform.plain(info.mean, info.std), info.n_classes,
        info.classes, f"{info.architecture}, trained by this workflow",
    )  # fmt: skip


def load_checkpoint_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a safetensors file: a checkpoint of this workflow, or a plain state dict."""
    try:
        with safe_open(str(weights), framework="pt") as archive:
            is_checkpoint = "matcheval" in (archive.metadata() or {})
        if is_checkpoint:
            return load_trained_model(source, weights, dataset)
        verify_file(weights)  # damage may have hidden that it is one
        state = load_file(weights)
    except (SafetensorError, OSError) as error:
        problem = f"not a readable safetensors file, perhaps truncated ({error})"
        raise InputError(problem, file=weights) from error
    if not source.options:
        problem = "a plain state dict, whose network the catalogue does not describe"
        remedy = f"Fill architecture, width, depth and normalization of model '{source.name}'"
        raise InputError(problem, file=weights, remedy=remedy)
    options = dict(source.options)
    mean, std = NORMALIZATIONS[options.pop("normalization")]
    module = build_model(**options, input_shape=stored_shape(dataset), n_classes=dataset.n_classes)
    # The batch counters of batch norm do not matter in evaluation, and older files lack them.
    own = module.state_dict()
    counters = {key: own[key] for key in own if key.endswith("num_batches_tracked")}
    try:
        module.load_state_dict(counters | state)
    except RuntimeError as error:
        network = f"a {options['architecture']} for {dataset.name}"
        problem = f"not the weights of {network} ({_first_lines(error)})"
        remedy = "Check architecture, width, depth and number of classes"
        raise InputError(problem, file=weights, remedy=remedy) from error
    description = f"{options['architecture']} from {weights.name}"
    transform = Transform.plain(mean, std)
    return LoadedModel(module.eval(), transform, dataset.n_classes, None, description)


def _published_model(
    module: nn.Module, transform: Transform, n_classes: int, description: str
) -> LoadedModel:
    """Wrap a published model as `LoadedModel`; 1,000 classes are taken to be ImageNet's."""
    classes = imagenet_classes() if n_classes == 1000 else None
    return LoadedModel(module, transform, n_classes, classes, description)


def _import_timm_with(architecture: str, model: str) -> ModuleType:
    """Import and return timm; raise an error if it does not have an architecture."""
    timm = load_timm()
    if not timm.is_model(architecture):
        problem = f"timm {timm.__version__} has no architecture '{architecture}'"
        remedy = suggest(architecture, timm.list_models())
        raise InputError(problem, file=model, field="source", remedy=remedy)
    return timm


def load_package_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Load an architecture of timm with the weights that an installed package holds."""
    package, _, architecture = source.source.partition(":")
    file = package_weights(package, model=source.name)
    timm = _import_timm_with(architecture, source.name)
    module: nn.Module = timm.create_model(architecture, pretrained=False)
    module.load_state_dict(
        rename_weights(module.state_dict(), read_state(file), file, architecture)
    )
    config = timm.data.resolve_data_config(model=module)
    return _published_model(
        module.eval(), Transform.from_data_config(config), int(module.num_classes),  # type: ignore
        f"timm {architecture} with the weights of the package {package}, {file.name}",
    )  # fmt: skip


def load_random_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Create an architecture of timm with random weights, the same ones each time."""
    timm = _import_timm_with(source.source, source.name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = timm.create_model(source.source, pretrained=False, num_classes=dataset.n_classes)
    transform = Transform.from_data_config(timm.data.resolve_data_config(model=module))
    description = f"timm {source.source} with random weights"
    return LoadedModel(module.eval(), transform, dataset.n_classes, None, description)


def start_from_weights(module: nn.Module, pretrained: str, name: str) -> None:
    """Load published weights into a network in place, except those of its last linear layer."""
    head = last_linear(module, name)
    prefix = next(key for key, part in module.named_modules() if part is head)
    own = module.state_dict()
    kept = {key for key in own if key.startswith(f"{prefix}.")}
    file = pretrained_weights(pretrained, name)
    module.load_state_dict(own | rename_weights(own, read_state(file), file, name, without=kept))


def read_state(file: Path) -> dict[str, Tensor]:
    """Read a state dict from a file of weights, without running code from a pickle."""
    try:
        if file.suffix == ".safetensors":
            state: Any = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for damaged files
        raise InputError(f"not readable weights ({_first_lines(error)})", file=file) from error
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise InputError("not a state dict: tensors by name", file=file)
    return dict(state)


def rename_weights(
    expected: Mapping[str, Tensor], state: Mapping[str, Tensor], file: Path, architecture: str,
    without: Collection[str] = (),
) -> dict[str, Tensor]:  # fmt: skip
    """Rename weights to a network's tensor names, by name or else position; drop `without`."""
    remedy = "Name the architecture that the weights are of"
    if len(state) != len(expected):
        problem = f"holds {len(state)} tensors, but {architecture} has {len(expected)}"
        raise InputError(problem, file=file, remedy=remedy)
    names = list(state) if state.keys() != expected.keys() else list(expected)
    renamed = {}
    for name, theirs in zip(expected, names, strict=True):
        shape, other = tuple(expected[name].shape), tuple(state[theirs].shape)
        if name not in without and shape != other:
            problem = f"{theirs} has shape {other}, but {name} of {architecture} has {shape}"
            raise InputError(problem, file=file, remedy=remedy)
        renamed[name] = state[theirs]
    return {name: value for name, value in renamed.items() if name not in without}


def load_timm_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a pretrained model of timm."""
    published = describe_timm(source.source)
    overlay: dict[str, Any] = {"file": str(weights), "source": "file"}  # and not the hub
    if weights.suffix == ".safetensors":
        # Files of the hub are state dicts, even of models first published in a custom format.
        overlay["custom_load"] = False
    with _naming_file(source, weights):
        module = load_timm().create_model(
            timm_name(source.source), pretrained=True, pretrained_cfg_overlay=overlay
        )
    transform = Transform.from_json(published.transform)
    return _published_model(module, transform, published.n_classes, f"timm {source.source}")


def load_torchvision_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a pretrained model of torchvision."""
    from torchvision import models

    published = describe_torchvision(source.source)
    member = models.get_weight(source.source)
    names = models.list_models(module=models)
    name = next(n for n in names if models.get_model_weights(n) is type(member))
    with _naming_file(source, weights), ExitStack() as stack:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        # Some of torchvision's builders set options of the model from the weights object (such as
        # Inception's input transform) and call the object for the state dict. They therefore get
        # the object itself, which returns the downloaded file instead of downloading.
        member.get_state_dict = lambda *_, **__: state
        stack.callback(vars(member).pop, "get_state_dict")
        module = models.get_model(name, weights=member)
    return _published_model(
        module, Transform.from_json(published.transform), published.n_classes,
        f"torchvision {published.source}",
    )  # fmt: skip


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
    """Turn an open_clip model into a classifier of classes, by embedding texts of their names."""
    import open_clip

    architecture, prompts = source.source.partition(":")[0], source.options["prompts"]
    is_set = prompts in TEMPLATE_SETS
    templates = getattr(open_clip, TEMPLATE_SETS[prompts]) if is_set else split_templates(prompts)
    clip: Any = model.to(device).eval()
    with repeatable_arithmetic(torch.get_num_threads(), strict=device == "cpu"), torch.no_grad():
        # Embeddings of length 1, their mean over templates, and this to length 1 again.
        embedded = open_clip.build_zero_shot_classifier(
            clip, open_clip.get_tokenizer(architecture), names, templates, device=device
        )
        return ZeroShotClassifier(clip.visual, (clip.logit_scale.exp() * embedded.T).contiguous())


def words_for_classes(source: ModelSource, classes: Sequence[str], dataset: str) -> list[str]:
    """Return the words for a dataset's classes in a zero-shot classifier's prompts, in order."""
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


def load_open_clip_model(
    source: ModelSource, weights: Path, dataset: Dataset, device: str = "cpu"
) -> LoadedModel:
    """Load an open_clip model as a zero-shot classifier of a dataset's classes."""
    import open_clip

    published = describe_open_clip(source.source)
    names = words_for_classes(source, dataset.classes, dataset.name)
    with _naming_file(source, weights):
        architecture = source.source.partition(":")[0]
        clip = open_clip.create_model(architecture, str(weights), require_pretrained=True)
    module = zero_shot_classifier(clip, source, names, device)
    description = f"open_clip {source.source}, prompts {source.options['prompts']}"
    transform = Transform.from_json(published.transform)
    return LoadedModel(module, transform, dataset.n_classes, None, description)


@contextmanager
def _naming_file(source: ModelSource, weights: Path) -> Iterator[None]:
    """Turn errors in the block, of many kinds for damaged files, into one that names the file."""
    try:
        yield
    except Exception as error:
        problem = f"not the weights of {source.source} ({_first_lines(error)})"
        remedy = "Delete it: the workflow downloads it again"
        if source.own_weights:
            remedy = "Name the architecture that the weights are of"
        raise InputError(problem, file=weights, remedy=remedy) from error


def _first_lines(error: Exception) -> str:
    """Return the first two lines of an error's text; torch's list all tensors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines else type(error).__name__


def load_model(
    source: ModelSource, weights: Path | None, dataset: Dataset, device: str = "cpu"
) -> LoadedModel:
    """Load a model of any kind to predict a dataset; refuse one of other classes."""
    if source.kind not in rows.FROM_CODE and (weights is None or not weights.is_file()):
        remedy = "Train or download the model first"
        raise InputError("no such weights file", file=weights, remedy=remedy)
    options = {"device": device} if source.kind == rows.OPEN_CLIP else {}
    model = _LOADERS[source.kind](source, weights, dataset, **options)
    _check_classes(source.name, model, dataset)
    return model


def load_network(source: ModelSource, dataset: Dataset) -> LoadedModel:
    """Load a model without a weights file for its features: its classes are not checked."""
    return _LOADERS[source.kind](source, None, dataset)


def _check_classes(name: str, model: LoadedModel, dataset: Dataset) -> None:
    """Raise an error unless the model's classes are the dataset's, as far as they are known."""
    ours, theirs, problem = model.classes, dataset.classes, ""
    if model.n_classes not in (None, dataset.n_classes):
        problem = f"number of classes is {len(theirs)}, but model {name} has {model.n_classes}"
    # Names can be compared if both are wnids or neither is.
    elif ours is not None and are_wnids(ours) == are_wnids(theirs) and ours != theirs:
        difference = compare_classes(theirs, ours)
        problem = f"its classes differ from those of model {name}: {difference}"
    if problem:
        remedy = "Use a model and a dataset with the same classes in the same order"
        raise InputError(problem, file=dataset.name, remedy=remedy)


_LOADERS: dict[str, Callable[..., LoadedModel]] = {
    rows.TRAINED: load_trained_model,
    rows.CHECKPOINT: load_checkpoint_model,
    rows.TIMM: load_timm_model,
    rows.TORCHVISION: load_torchvision_model,
    rows.OPEN_CLIP: load_open_clip_model,
    rows.CALLABLE: load_callable_model,
    rows.PACKAGE: load_package_model,
    rows.RANDOM: load_random_model,
}
