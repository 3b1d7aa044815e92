"""Descriptions of the pretrained models of three libraries: address, classes, transform.

Importing timm takes seconds, and Snakemake reads the study at every start. The descriptions are
therefore cached in a file per library and version; torch is imported only for a model that is not
in the cache.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from matcheval.errors import ErrorCollector, InputError, configuration_error, listed, suggest
from matcheval.io.files import write_text
from matcheval.models.packages import (
    EXTRAS,
    HUB_PREFIX,
    SUFFIXES,
    is_file_of_weights,
    load_timm,
    timm_name,
)  # fmt: skip
from matcheval.models.rows import OPEN_CLIP, PUBLISHED, TIMM, ModelSource
from matcheval.models.transforms import Transform

HUB = os.environ.get("HF_ENDPOINT", "https://huggingface.co")

# Packages of torchvision.models for tasks other than image classification.
_OTHER_TASKS = ("detection", "segmentation", "video", "optical_flow")


@dataclass(frozen=True)
class Published:
    """A pretrained model. The URL is empty if the weights are the user's; 0 classes: any number."""

    source: str
    url: str
    suffix: str
    n_classes: int
    transform: str

    @property
    def file_name(self) -> str:
        """Name of the weights file in the results folder."""
        return re.sub("[:/@]+", "_", self.source) + self.suffix


def describe_published(models: Iterable[ModelSource], folder: str | Path) -> dict[str, Published]:
    """Describe the pretrained models of a study, by name; cache the descriptions in a folder."""
    published: dict[str, Published] = {}
    for kind in PUBLISHED:
        wanted = [model for model in models if model.kind == kind]
        if not wanted:
            continue
        file = Path(folder) / f"{kind}-{_installed_version(kind)}.json"
        descriptions, problems = _read_cache(file), ErrorCollector()
        new = {model.source: model.name for model in wanted if model.source not in descriptions}
        describe = {TIMM: describe_timm, OPEN_CLIP: describe_open_clip}.get(
            kind, describe_torchvision
        )
        for source, name in sorted(new.items()):
            with problems.collected():
                try:
                    descriptions[source] = describe(source)
                except InputError as error:
                    raise InputError(str(error), file=f"model '{name}'") from error
        problems.raise_any()
        if new:
            text = json.dumps({k: asdict(v) for k, v in sorted(descriptions.items())}, indent=1)
            write_text(file, text)
        published |= {model.name: descriptions[model.source] for model in wanted}
    return published


def package_name(kind: str) -> str:
    """Return the name of the package that has the models of a kind."""
    return "open_clip_torch" if kind == OPEN_CLIP else kind


def _installed_version(kind: str) -> str:
    package = package_name(kind)
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        problem = f"models of kind '{kind}' need the package {package}, which is not installed here"
        remedy = (
            f"Install it in Snakemake's environment, which reads addresses of weights from it: pip "
            f"install '{EXTRAS.get(package, package)}'"
        )
        raise configuration_error(problem, field="models", remedy=remedy) from error


def _read_cache(file: Path) -> dict[str, Published]:
    """Read the cached descriptions; a file that is damaged or of an older format is deleted."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        return {source: Published(**values) for source, values in entries.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        file.unlink(missing_ok=True)
        return {}


def describe_timm(source: str) -> Published:
    """Describe a pretrained model of timm: address of the weights, classes, transform."""
    timm = load_timm()
    if timm_name(source).startswith(HUB_PREFIX):
        return _describe_hub(source)
    name, _, tag = source.partition(".")
    try:
        config = timm.get_pretrained_cfg(source) if timm.is_model(name) and tag else None
    except RuntimeError:  # an unknown tag
        config = None
    if config is None:
        tagged = timm.list_pretrained(f"{name}.*") if not tag else []
        remedy = suggest(source, timm.list_pretrained())
        if tagged:
            remedy = f"Give the tag of its weights, too: {listed(tagged, 4)}"
        elif not remedy.startswith("Did you mean"):
            remedy = "See timm.list_pretrained(); if there are only predictions: kind 'predictions'"
        problem = f"timm {timm.__version__} has no pretrained model '{source}'"
        raise InputError(problem, field="source", remedy=remedy)
    url, suffix = _timm_address(config)
    if not url:
        problem = f"timm {timm.__version__} has no address for the weights of '{source}'"
        remedy = "Download them yourself, and enter the model with kind 'callable'"
        raise InputError(problem, field="source", remedy=remedy)
    data = timm.data.resolve_data_config(pretrained_cfg=config.to_dict())
    transform = Transform.from_data_config(data)
    return Published(source, url, suffix, int(config.num_classes), transform.to_json())


def _describe_hub(source: str) -> Published:
    """Describe a model that somebody published on the Hugging Face hub for timm."""
    timm, name = load_timm(), timm_name(source).removeprefix(HUB_PREFIX)
    try:
        config = timm.models.load_model_config_from_hf(name)[0]
    except Exception as error:  # the hub raises many kinds, and timm where this is no model of it
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        problem, remedy = f"the hub gave no model of timm ({reason:.200})", "Check its name"
        raise InputError(problem, field="source", remedy=f"{remedy}, and the network") from error
    repository, _, revision = name.partition("@")
    url = f"{HUB}/{repository}/resolve/{revision or 'main'}/model.safetensors"
    transform = Transform.from_data_config(timm.data.resolve_data_config(pretrained_cfg=config))
    n_classes = int(config["num_classes"])
    return Published(source, url, ".safetensors", n_classes, transform.to_json())


def _timm_address(config: Any) -> tuple[str, str]:
    """Return URL and suffix of a timm model's weights, preferably on the Hugging Face hub."""
    if config.hf_hub_id:
        repository, _, revision = config.hf_hub_id.partition("@")
        file = config.hf_hub_filename or "model.safetensors"
        return f"{HUB}/{repository}/resolve/{revision or 'main'}/{file}", Path(file).suffix
    url = config.url[0] if isinstance(config.url, tuple | list) else config.url
    return url or "", Path(url or "").suffix


def describe_torchvision(source: str) -> Published:
    """Describe pretrained weights of torchvision: address, classes, transform."""
    import torchvision
    from torchvision import models

    try:
        weights = models.get_weight(source)
    except (ValueError, AttributeError, KeyError) as error:
        names = [
            f"{kind.__name__}.{member}"
            for model in models.list_models(module=models)
            for kind in [models.get_model_weights(model)]
            for member in kind.__members__
        ]
        problem = f"torchvision {torchvision.__version__} has no weights '{source}'"
        raise InputError(problem, field="source", remedy=suggest(source, names)) from error
    if type(weights).__module__.split(".")[2] in _OTHER_TASKS:
        raise InputError(f"'{source}' is not for image classification", field="source")
    transform = Transform.from_preset(weights.transforms())
    n_classes = len(weights.meta["categories"])
    canonical = f"{type(weights).__name__}.{weights.name}"
    return Published(
        canonical, weights.url, Path(weights.url).suffix, n_classes, transform.to_json()
    )


def describe_open_clip(source: str) -> Published:
    """Describe an open_clip model given as `architecture:weights`, a pretrained tag or a file."""
    import open_clip

    architecture, _, weights = source.partition(":")
    version, own = open_clip.__version__, is_file_of_weights(weights)
    network = open_clip.get_model_config(architecture)
    if network is None:
        problem = f"open_clip {version} has no architecture '{architecture}'"
        remedy = suggest(architecture, open_clip.list_models())
        raise InputError(problem, field="source", remedy=remedy)
    other_texts = {"hf_model_name", "hf_tokenizer_name"} & {*network["text_cfg"]}
    if other_texts or "multimodal_cfg" in network:
        problem = f"{architecture} has a tokenizer of the hub, or writes captions"
        remedy = "Enter it with kind 'callable', or use a network with CLIP's own tokenizer"
        raise InputError(problem, field="source", remedy=remedy)
    config = {} if own else open_clip.get_pretrained_cfg(architecture, weights)
    if not own and not config.get("hf_hub"):
        problem = f"open_clip {version} has no weights '{weights}' of {architecture} on the hub"
        tags = listed(open_clip.list_pretrained_tags_by_model(architecture), 8) or "none is known"
        remedy = f"Give a file that ends with {', '.join(SUFFIXES)}, or a tag: {tags}"
        raise InputError(problem, field="source", remedy=remedy)
    # open_clip only warns of the wrong activation, with which the weights are less accurate.
    if not own and config.get("quick_gelu", False) != network.get("quick_gelu", False):
        problem = f"the weights '{weights}' were trained with QuickGELU, unlike {architecture}"
        raise InputError(problem, field="source", remedy=f"Name {architecture}-quickgelu")
    settings = open_clip.transform.PreprocessCfg()
    data = open_clip.transform.merge_preprocess_dict(settings, config)
    side, mode = network["vision_cfg"].get("image_size", settings.size), data["resize_mode"]
    data["input_size"] = (3, *(side if isinstance(side, list) else (side, side)))
    data |= {"crop_pct": 1.0, "crop_mode": {"shortest": "center"}.get(mode, mode)}
    url, suffix = "", Path(weights).suffix
    if not own:
        repository, file = os.path.split(config["hf_hub"])
        file = file or "open_clip_model.safetensors"
        url, suffix = f"{HUB}/{repository}/resolve/main/{file}", Path(file).suffix
    return Published(source, url, suffix, 0, Transform.from_data_config(data).to_json())


def check_file_name_digest(url: str, path: Path, sha256: str) -> None:
    """Delete a downloaded file, and raise an error, if its URL names another file's digest."""
    named = re.search(r"-([0-9a-f]{8,})\.\w+$", url)
    if named and not sha256.startswith(named[1]):
        path.unlink(missing_ok=True)
        problem = f"its SHA-256 is {sha256}, but {url} names one that begins with {named[1]}"
        remedy = "Run again; if the error repeats, the server has another file at this address"
        raise InputError(problem, file=path, remedy=remedy)
