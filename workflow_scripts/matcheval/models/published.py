"""What timm and torchvision say of their pretrained models: address, classes, transform.

Importing timm takes seconds, and Snakemake reads the study anew at every start; so what was found
out is kept in a file, by the version of the library. Nothing here imports torch unless a model is
asked for that the file does not have.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, Problems, meant
from matcheval.io.files import whole_file
from matcheval.models.rows import PUBLISHED, TIMM, ModelSource
from matcheval.models.timm_library import load_timm
from matcheval.models.transforms import Transform

HUB = "https://huggingface.co"

# Packages of torchvision.models that are not for the classification of images.
_OTHER_TASKS = ("detection", "segmentation", "video", "optical_flow")


@dataclass(frozen=True)
class Published:
    """A pretrained model of timm or torchvision.

    Attributes
    ----------
    source : str
        timm's `name.tag`, or torchvision's `Weights.MEMBER`.
    url : str
        Where its weights are.
    suffix : str
        Of the file of weights.
    n_classes : int
        Number of classes.
    transform : str
        Its evaluation transform as JSON (`Transform.to_json`).
    """

    source: str
    url: str
    suffix: str
    n_classes: int
    transform: str

    @property
    def file_name(self) -> str:
        """The name of its weights in the results folder."""
        return f"{self.source}{self.suffix}"


def describe_published(models: Iterable[ModelSource], folder: str | Path) -> dict[str, Published]:
    """Find out what is to be known of the pretrained models of a study.

    Parameters
    ----------
    models : iterable of ModelSource
        Those of other kinds are passed over.
    folder : path-like
        Where the answers are kept, a file per library and version.

    Returns
    -------
    dict
        By name of the model.

    Raises
    ------
    InputError
        Telling all models that the installed library does not have, each with the nearest name
        that it has.
    """
    found: dict[str, Published] = {}
    for kind in PUBLISHED:
        wanted = [model for model in models if model.kind == kind]
        if not wanted:
            continue
        file = Path(folder) / f"{kind}-{_version(kind)}.json"
        known = _read(file)
        new = sorted({model.source for model in wanted} - known.keys())
        if new:
            known |= _ask(kind, new, {m.source: m.name for m in wanted})
            with whole_file(file) as partial:
                text = json.dumps({k: asdict(v) for k, v in sorted(known.items())}, indent=1)
                partial.write_text(text, encoding="utf-8")
        found |= {model.name: known[model.source] for model in wanted}
    return found


def _version(kind: str) -> str:
    try:
        return metadata.version(kind)
    except metadata.PackageNotFoundError as error:
        raise InputError(
            f"models of kind '{kind}' need the package {kind}, which is not installed here",
            file="configuration",
            field="models",
            remedy="Install it beside Snakemake, as `make demo` does: it is asked where its "
            "weights lie",
        ) from error


def _read(file: Path) -> dict[str, Published]:
    """What was found out before; a file that is damaged or of another version is made anew."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        return {source: Published(**values) for source, values in entries.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        file.unlink(missing_ok=True)
        return {}


def _ask(kind: str, sources: list[str], names: Mapping[str, str]) -> dict[str, Published]:
    describe = describe_timm if kind == TIMM else describe_torchvision
    problems, found = Problems(), {}
    for source in sources:
        with problems.gathered():
            try:
                found[source] = describe(source)
            except InputError as error:
                raise InputError(str(error), file=f"model '{names[source]}'") from error
    problems.raise_any()
    return found


def describe_timm(source: str) -> Published:
    """Describe a pretrained model of timm.

    Parameters
    ----------
    source : str
        Architecture and pretrained tag, `resnet50.a1_in1k`; the tag must be given, as the
        default one may change between versions.

    Raises
    ------
    InputError
        If the installed timm does not know it, or knows no address of its weights.
    """
    timm = load_timm()
    name, _, tag = source.partition(".")
    try:
        config = timm.get_pretrained_cfg(source) if timm.is_model(name) and tag else None
    except RuntimeError:  # an unknown tag
        config = None
    if config is None:
        remedy = "Give architecture and tag. " if timm.is_model(name) else ""
        raise InputError(
            f"timm {timm.__version__} has no pretrained model '{source}'",
            field="source",
            remedy=remedy + meant(source, timm.list_pretrained()),
        )
    url, suffix = _timm_address(config)
    if not url:
        raise InputError(
            f"timm {timm.__version__} knows no address of the weights of '{source}'",
            field="source",
            remedy="Download them yourself, and give the model as kind 'callable'",
        )
    data = timm.data.resolve_data_config(pretrained_cfg=config.to_dict())
    transform = Transform.from_data_config(data)
    return Published(source, url, suffix, int(config.num_classes), transform.to_json())


def _timm_address(config: Any) -> tuple[str, str]:
    """URL and suffix of a timm model's weights: on the hub, else where they were published."""
    if config.hf_hub_id:
        repository, _, revision = config.hf_hub_id.partition("@")
        file = config.hf_hub_filename or "model.safetensors"
        return f"{HUB}/{repository}/resolve/{revision or 'main'}/{file}", Path(file).suffix
    url = config.url[0] if isinstance(config.url, tuple | list) else config.url
    return url or "", Path(url or "").suffix


def describe_torchvision(source: str) -> Published:
    """Describe a weight of torchvision, `ResNet50_Weights.IMAGENET1K_V2`.

    Raises
    ------
    InputError
        If the installed torchvision does not know it, or it is not for classification.
    """
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
        raise InputError(
            f"torchvision {torchvision.__version__} has no weights '{source}'",
            field="source",
            remedy=meant(source, names),
        ) from error
    if type(weights).__module__.split(".")[2] in _OTHER_TASKS:
        raise InputError(f"'{source}' is not for the classification of images", field="source")
    transform = Transform.from_preset(weights.transforms())
    n_classes = len(weights.meta["categories"])
    canonical = f"{type(weights).__name__}.{weights.name}"
    return Published(
        canonical, weights.url, Path(weights.url).suffix, n_classes, transform.to_json()
    )


def check_file_name_digest(url: str, path: Path, sha256: str) -> None:
    """Compare a file with the digest that torch's hub has in names, as in `resnet18-f37072fd.pth`.

    Parameters
    ----------
    url : str
        Where the file is published; a name without a digest is taken as it is.
    path : Path
        The file, which is removed if it is another.
    sha256 : str
        Its digest.

    Raises
    ------
    InputError
        If the two disagree.
    """
    named = re.search(r"-([0-9a-f]{8,})\.\w+$", url)
    if named and not sha256.startswith(named[1]):
        path.unlink(missing_ok=True)
        raise InputError(
            f"its SHA-256 is {sha256}, not {named[1]}..., as {url} says",
            file=path,
            remedy="Run again; if it repeats, the address or the mirror has another file",
        )
