"""What happens to an image's pixels before a model sees them: resized, then cropped or padded.

The arithmetic is that of timm's and torchvision's evaluation transforms, to the pixel (tests
compare them), on Pillow alone: a worker that decodes images starts in a tenth of a second and a
few megabytes, where their own transforms bring torch along. Normalisation is not part of it: that
is left to the device the model runs on.
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
        `none`: the image is taken as it is stored, and the other fields are empty. `short`: its
        shorter edge becomes `scale[0]` (torchvision's rule of rounding). `cover`, `fit`: it is the
        smallest image that covers, or the largest that fits in, `scale` (timm's rule). `exact`:
        its edges become those of `scale`.
    scale, crop : (int, int)
        Height and width in pixels, resized to and cropped to. What is smaller is padded.
    interpolation : str
        One of `INTERPOLATIONS`.
    fill : (int, int, int) or None
        Colour of the padding; None for black.
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
        """Read what `to_mapping` gave, lists taken for tuples as JSON has them."""
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**fields)

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @property
    def name(self) -> str:
        """A name for files: equal names mean equal pixels."""
        if self.resize == "none":
            return "none"
        name = f"{self.resize}{_edges(self.scale)}-{self.interpolation}-crop{_edges(self.crop)}"
        return name + (f"-fill{'.'.join(map(str, self.fill))}" if self.fill else "")

    @property
    def text(self) -> str:
        """The same in words, for a file's provenance."""
        if self.resize == "none":
            return "pixels as stored"
        words = _WORDS[self.resize].format(_edges(self.scale))
        fill = f", padded with {self.fill}" if self.fill else ""
        return f"{words} ({self.interpolation}), centre {_edges(self.crop)}{fill}"

    def apply(self, image: Image.Image) -> Image.Image:
        """Resize and crop an RGB image."""
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


def _start(there: int, wanted: int) -> int:
    """Where a central crop begins along an axis; negative where there is padding."""
    if there >= wanted:
        return round((there - wanted) / 2)
    return -((wanted - there) // 2)


def _edges(size: Size) -> str:
    """Height and width as text; one number if they are equal."""
    return str(size[0]) if size[0] == size[1] else f"{size[0]}x{size[1]}"
