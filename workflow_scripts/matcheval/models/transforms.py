"""Evaluation transforms: geometry of the uint8 image, then normalisation on the device."""

import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from matcheval.errors import InputError, unknown_name_error

Size = tuple[int, int]
Step = Callable[[Image.Image], Image.Image]

INTERPOLATIONS = {name.lower(): value for name, value in Image.Resampling.__members__.items()}

_WORDS = {
    "short": "shorter edge to {}",
    "cover": "edges to at least {}, aspect kept",
    "fit": "edges to at most {}, aspect kept",
    "exact": "edges to {}, aspect not kept",
}


@dataclass(frozen=True)
class Geometry:
    """Resizing and central cropping of an image."""

    resize: str = "none"
    scale: Size = (0, 0)
    crop: Size = (0, 0)
    interpolation: str = ""
    fill: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        if self.resize == "none":
            return
        if self.resize not in _WORDS or min(*self.scale, *self.crop) < 1:
            raise InputError(f"cannot resize '{self.resize}' to {self.scale}, cropped {self.crop}")
        if self.interpolation not in INTERPOLATIONS:
            raise unknown_name_error("interpolation", self.interpolation, INTERPOLATIONS)

    @property
    def name(self) -> str:
        """A name for files; geometries of equal names give equal pixels."""
        if self.resize == "none":
            return "none"
        name = f"{self.resize}{_edges(self.scale)}-{self.interpolation}-crop{_edges(self.crop)}"
        return name + (f"-fill{'.'.join(map(str, self.fill))}" if self.fill else "")

    @property
    def text(self) -> str:
        """A description in words, for a file's provenance."""
        if self.resize == "none":
            return "pixels as stored"
        words = _WORDS[self.resize].format(_edges(self.scale))
        fill = f", padded with {self.fill}" if self.fill else ""
        return f"{words} ({self.interpolation}), centre {_edges(self.crop)}{fill}"

    def apply(self, image: Image.Image) -> Image.Image:
        """Resize and crop an image, by the public transforms of torchvision and timm."""
        if self.resize == "none":
            return image
        resized, cropped = _steps(self)
        return cropped(resized(image))


@functools.cache
def _steps(geometry: Geometry) -> tuple[Step, Step]:
    """Return the transforms that resize and that crop or pad."""
    from torchvision import transforms

    scale, interpolation = geometry.scale, transforms.InterpolationMode(geometry.interpolation)
    crop = transforms.CenterCrop(geometry.crop)
    if geometry.resize in ("short", "exact"):
        size = scale[0] if geometry.resize == "short" else scale
        return transforms.Resize(size, interpolation), crop
    from matcheval.models.packages import load_timm

    timms = load_timm().data.transforms
    # longest: 0 for edges of at least, 1 for edges of at most the scale
    longest = float(geometry.resize == "fit")
    resized = timms.ResizeKeepRatio(scale, longest=longest, interpolation=geometry.interpolation)
    return resized, timms.CenterCropOrPad(geometry.crop, fill=geometry.fill or 0)


def _edges(size: Size) -> str:
    """Format height and width; one number if they are equal."""
    return str(size[0]) if size[0] == size[1] else f"{size[0]}x{size[1]}"


IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

# Values of a checkpoint's `normalization` column: mean and standard deviation for pixels in [0, 1].
NORMALIZATIONS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "none": ((0.0,), (1.0,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    # Standard deviations averaged over images, as in many published trainings.
    "cifar10_per_image": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "imagenet": (IMAGENET_MEAN, IMAGENET_STD),
}

_DEFAULT_CROP_FRACTION = 0.875  # timm's default, for configurations without one


@dataclass(frozen=True)
class Transform:
    """The evaluation transform of a model's images: x = (pixels / largest value − mean) / std."""

    geometry: Geometry
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean or min(self.std) <= 0:
            raise InputError(f"cannot normalise with mean {self.mean} and std {self.std}")

    @classmethod
    def from_data_config(cls, config: Mapping[str, Any]) -> "Transform":
        """Build the transform of timm's `create_transform` from its `resolve_data_config`."""
        try:
            channels, *edges = config["input_size"]
            crop = (int(edges[0]), int(edges[1]))
            fraction = float(config.get("crop_pct") or _DEFAULT_CROP_FRACTION)
            mode = config.get("crop_mode") or "center"
            mean, std = tuple(map(float, config["mean"])), tuple(map(float, config["std"]))
            interpolation = str(config["interpolation"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            problem = f"{dict(config)} is not a data configuration of timm ({error})"
            raise InputError(problem) from error
        if channels != 3 or mode not in ("center", "squash", "border"):
            problem = f"cannot transform images to {channels} channels with crop mode '{mode}'"
            raise InputError(problem)
        scale = (math.floor(crop[0] / fraction), math.floor(crop[1] / fraction))
        resize, fill = "short" if scale[0] == scale[1] else "cover", None
        if mode == "squash":
            resize = "exact"
        elif mode == "border":
            resize = "fit"
            fill = (round(255 * mean[0]), round(255 * mean[1]), round(255 * mean[2]))
        return cls(Geometry(resize, scale, crop, interpolation, fill), mean, std)

    @classmethod
    def from_preset(cls, preset: Any) -> "Transform":
        """Build a transform from `transforms()` of a weight of torchvision."""
        required = ("crop_size", "resize_size", "mean", "std", "interpolation")
        if any(not hasattr(preset, name) for name in required):
            kind = type(preset).__name__
            problem = f"'{kind}' is not a transform that this workflow can interpret"
            remedy = "Give a Transform, a data configuration of timm, or a weight's transforms()"
            raise InputError(problem, remedy=remedy)
        sizes = (preset.crop_size, preset.resize_size)
        crop, scale = ((int(size[0]), int(size[-1])) for size in map(list, sizes))
        resize = "short" if len(list(preset.resize_size)) == 1 else "exact"
        geometry = Geometry(resize, scale, crop, preset.interpolation.value)
        return cls(geometry, tuple(preset.mean), tuple(preset.std))

    @classmethod
    def plain(
        cls, mean: tuple[float, ...] = (0.0,), std: tuple[float, ...] = (1.0,)
    ) -> "Transform":
        """Build a transform that normalises the stored pixels and changes nothing else."""
        return cls(Geometry(), mean, std)

    @classmethod
    def from_json(cls, text: str) -> "Transform":
        """Read a transform from its JSON text, as `to_json` writes it."""
        values = json.loads(text)
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values["geometry"].items()
        }
        return cls(Geometry(**fields), tuple(values["mean"]), tuple(values["std"]))

    def to_json(self) -> str:
        """Return the transform as JSON text, which `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    def text(self, max_value: int) -> str:
        """Describe the transform in words, for a file's provenance."""
        words = [] if self.geometry.resize == "none" else [self.geometry.text]
        words.append(f"uint8 / {max_value}")
        if set(self.mean) != {0.0} or set(self.std) != {1.0}:
            words.append(f"mean {_format_numbers(self.mean)}, std {_format_numbers(self.std)}")
        return "; ".join(words)


def _format_numbers(values: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"
