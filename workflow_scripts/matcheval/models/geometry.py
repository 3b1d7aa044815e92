"""Geometry of evaluation transforms: resizing, then central cropping or padding.

The results equal those of timm's and torchvision's evaluation transforms in every pixel (tests
compare them). This module needs only Pillow, whereas their transforms import torch: a worker that
decodes images starts in a tenth of a second and uses a few megabytes. Normalisation is not
included; it is computed on the model's device.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from matcheval.errors import InputError

Size = tuple[int, int]

INTERPOLATIONS = {name.lower(): value for name, value in Image.Resampling.__members__.items()}

_WORDS = {
    "short": "shorter edge to {}",
    "cover": "edges to at least {}, aspect kept",
    "fit": "edges to at most {}, aspect kept",
    "exact": "edges to {}, aspect not kept",
}


@dataclass(frozen=True)
class Geometry:
    """Resizing and central cropping of an image.

    Attributes
    ----------
    resize : str
        `none`: the image is not changed, and the other fields keep their defaults. `short`: its
        shorter edge becomes `scale[0]` (torchvision's rounding). `cover`, `fit`: with its aspect
        ratio kept, it becomes the smallest image that covers `scale`, or the largest that fits
        in it (timm's rounding). `exact`: its edges become those of `scale`.
    scale : (int, int)
        Height and width in pixels to resize to.
    crop : (int, int)
        Height and width in pixels to crop to; a smaller image is padded.
    interpolation : str
        One of `INTERPOLATIONS`.
    fill : (int, int, int) or None
        RGB colour of the padding, in 0..255; None for black.

    Raises
    ------
    InputError
        If a value is not as described above.
    """

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
        """Build a geometry from the values that `to_mapping` returned.

        Parameters
        ----------
        values : mapping of str to object
            The fields; lists, as in JSON, become tuples.

        Returns
        -------
        Geometry

        Raises
        ------
        InputError
            If a value is invalid.
        """
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
        """Resize and crop an image.

        Parameters
        ----------
        image : PIL.Image.Image
            An RGB image of any size.

        Returns
        -------
        PIL.Image.Image
            An image of the size `crop`; the given image if `resize` is `none`.
        """
        if self.resize == "none":
            return image
        height, width = self._resized(image.height, image.width)
        if (width, height) != image.size:
            image = image.resize((width, height), INTERPOLATIONS[self.interpolation])
        return self._cropped(image)

    def _resized(self, height: int, width: int) -> Size:
        if self.resize == "exact":
            return self.scale
        if self.resize == "short":
            edge = self.scale[0]
            if width <= height:
                return int(edge * height / width), edge
            return edge, int(edge * width / height)
        ratios = height / self.scale[0], width / self.scale[1]
        ratio = min(ratios) if self.resize == "cover" else max(ratios)
        return round(height / ratio), round(width / ratio)

    def _cropped(self, image: Image.Image) -> Image.Image:
        height, width = self.crop
        top, left = _start(image.height, height), _start(image.width, width)
        if image.height >= height and image.width >= width:
            return image.crop((left, top, left + width, top + height))
        canvas = Image.new(image.mode, (width, height), self.fill or 0)
        canvas.paste(image, (-left, -top))
        return canvas


def _start(length: int, cropped: int) -> int:
    """Return where a central crop begins along an axis; a negative number means padding."""
    if length >= cropped:
        return round((length - cropped) / 2)
    return -((cropped - length) // 2)


def _edges(size: Size) -> str:
    """Format height and width; one number if they are equal."""
    return str(size[0]) if size[0] == size[1] else f"{size[0]}x{size[1]}"
