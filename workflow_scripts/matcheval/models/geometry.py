"""Geometry of evaluation transforms: resizing, then central cropping or padding.

A geometry is a description, by which models that can share their pixels are found before any job;
timm's and torchvision's own transforms carry it out. Normalisation is not included; it is computed
on the model's device.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from matcheval.errors import InputError

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
            raise InputError(
                f"unknown interpolation '{self.interpolation}'",
                remedy=f"Known: {', '.join(INTERPOLATIONS)}",
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Geometry":
        """Build a geometry from the values that `to_mapping` returned."""
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**fields)

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

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
    from matcheval.models.timm_library import load_timm

    timms = load_timm().data.transforms
    # longest: 0 for edges of at least, 1 for edges of at most the scale
    longest = float(geometry.resize == "fit")
    resized = timms.ResizeKeepRatio(scale, longest=longest, interpolation=geometry.interpolation)
    return resized, timms.CenterCropOrPad(geometry.crop, fill=geometry.fill or 0)


def _edges(size: Size) -> str:
    """Format height and width; one number if they are equal."""
    return str(size[0]) if size[0] == size[1] else f"{size[0]}x{size[1]}"
