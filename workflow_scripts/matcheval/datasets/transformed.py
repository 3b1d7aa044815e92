"""Dataset kinds that transform the images of another dataset: `corrupted` and `restyled`.

The folder of such a dataset lies beside that of its source. Restyled datasets are domains of one
task, made without photographs: the same images and labels in another style.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image
from pydantic import Field, model_validator

from matcheval.datasets import corruptions
from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.dataset import Dataset, MadeImages, content_digest, release
from matcheval.datasets.decoding import rgb_pixels
from matcheval.datasets.kind import DatasetKind, Severity, dataset_kind
from matcheval.datasets.sources import Sources
from matcheval.errors import InputError
from matcheval.settings import Boolean, Count, Integer, Name, Seed, one_of

NO_CORRUPTION = "none"
_NAMES = (*corruptions.ALL, NO_CORRUPTION)
# Raised by hand when an edit of the builder, not of the corruptions, changes images.
_BUILDER_VERSION = 1

# Sides of the images that the parameters are meant for.
_SMALL: Literal[32] = 32
_LARGE: Literal[224] = 224
_LARGEST_SMALL = 64  # images up to this side are corrupted like CIFAR's by default
# ImageNet-C: the shorter side is brought to 256 pixels, the central 224 are taken, corrupted, and
# saved as JPEG (hendrycks/robustness, create_c/make_imagenet_c.py).
_MARGIN, _QUALITY = 256 / 224, 85
_GREY = np.array([299, 587, 114])  # weights of red, green and blue (ITU-R BT.601)

_COARSE = 3  # random values per side, between which backgrounds are interpolated


class _Transformed(DatasetKind):
    """Base class of datasets whose images are made from those of another dataset."""

    of: Name = Field(description="The other dataset, of this study")

    @property
    def sources(self) -> list[str]:
        """Name of the other dataset, in a list."""
        return [self.of]


@dataset_kind
class Corrupted(_Transformed):
    """The images of another dataset, corrupted as in CIFAR-10-C and ImageNet-C."""

    kind: Literal["corrupted"]
    corruption: Annotated[str, one_of(_NAMES)] = Field(
        description="Its name, or `none` to bring images to a size, or to JPEG, only",
        json_schema_extra={"enum": list(_NAMES)},
    )
    severity: Severity | None = Field(None, description="5 is the strongest, `all` joins them")
    seed: Seed = Field(0, description="Seed of the random numbers")
    parameters: Literal["auto", 32, 224] = Field(
        "auto", description="Those for images of 32 or 224 pixels; by default, by their size"
    )
    size: Count | None = Field(
        None, description="Side that images are brought to first; 224 by default for image files"
    )
    jpeg_quality: Literal["auto", "none"] | Annotated[Integer, Field(ge=1, le=95)] = Field(
        "auto", description="Save as JPEG in the end; `auto` is 85 with parameters for 224, or none"
    )
    restore: Boolean = Field(
        False,
        description="Enlarge images by repeating pixels, and bring them back, by averages, to the "
        "size, channels and pixel range of the other dataset, for models that know only these",
    )
    stored: Boolean = Field(
        False, description="Store the pixels, rather than make them whenever they are read"
    )
    builder_version: ClassVar[int] = 100 * _BUILDER_VERSION + corruptions.CORRUPTION_VERSION

    @model_validator(mode="after")
    def _check_severity(self) -> "Corrupted":
        if (self.severity is None) != (self.corruption == NO_CORRUPTION):
            needed = "has no" if self.corruption == NO_CORRUPTION else "needs a"
            raise ValueError(f"corruption '{self.corruption}' {needed} severity")
        return self

    @property
    def needs_one_size(self) -> bool:
        """Whether images are restored to the other dataset's size, which has to be one."""
        return self.restore

    @property
    def is_made(self) -> bool:
        """Whether images are made when they are read: unless they are stored."""
        return not self.stored

    @property
    def published_files(self) -> list[str]:
        """Name of the archive of photographs that the corruption `frost` needs, in a list."""
        return [corruptions.ARCHIVE] if self.corruption == "frost" else []

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build a corrupted version of a dataset; only its first image is made now, as a check."""
        source = sources.dataset(self.of, verify=False)
        images = self.images(source, sources)
        _ = images[0]
        strength = "" if self.severity is None else f" of severity {self.severity}"
        labels, names = source.labels, source.names
        if self.severity == "all":
            labels = np.tile(labels, len(SEVERITIES))
            names = tuple(f"{severity}/{name}" for severity in SEVERITIES for name in names)
        return replace(
            source, name=name, images=images, labels=labels, names=names,
            max_value=source.max_value if self.restore else 255,
            source=f"{source.name} with corruption '{self.corruption}'{strength}",
            sha256=content_digest(images, labels),
            provenance={
                "recipe": json.loads(images.recipe),
                "downloads": os.path.relpath(sources.downloads, sources.datasets),
            },
        )  # fmt: skip

    def images(self, source: Dataset, sources: Sources) -> MadeImages:
        """Return the corrupted images, which are made from those of `source` when they are read."""
        textures = [sources.published(file) for file in self.published_files]
        side = _LARGE if self.size is None and source.stored == "files" else self.size
        height, width = (side, side) if side else source.image_shape[:2]
        by_size = _SMALL if max(height, width) <= _LARGEST_SMALL else _LARGE
        parameters = by_size if self.parameters == "auto" else self.parameters
        quality = None if self.jpeg_quality == "none" else self.jpeg_quality
        if quality == "auto":
            quality = _QUALITY if parameters == _LARGE else None
        copies = len(SEVERITIES) if self.severity == "all" else 1
        recipe = {
            "version": self.builder_version,
            "of": {"sha256": source.sha256, "max_value": source.max_value},
            "files": dict(sources.digests),
            "corruption": self.corruption, "severity": self.severity, "seed": self.seed,
            "parameters": parameters, "side": side, "jpeg_quality": quality,
        }  # fmt: skip
        shape = (height, width, 3)
        if self.restore:
            _check_restorable(source, height, width)
            recipe["restored"], shape = True, source.image_shape
        make = _Corrupter(self, source, next(iter(textures), None), parameters, side, quality)
        return MadeImages((len(source) * copies, *shape), json.dumps(recipe, sort_keys=True), make)


@dataclass(frozen=True)
class _Corrupter:
    """A function that makes the corrupted images of some rows of a dataset."""

    settings: Corrupted
    source: Dataset
    textures: Path | None
    parameters: Literal[32, 224]
    side: int | None
    quality: int | None

    def __call__(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        if self.settings.severity != "all":
            return self._corrupt(rows, self.settings.severity)
        # The images of each severity follow those of the one before.
        order, rows = np.divmod(rows, len(self.source))
        parts = [(np.flatnonzero(order == i), severity) for i, severity in enumerate(SEVERITIES)]
        made = [self._corrupt(rows[chosen], severity) for chosen, severity in parts if len(chosen)]
        return np.concatenate(made)[np.argsort(np.concatenate([chosen for chosen, _ in parts]))]

    def _corrupt(self, rows: npt.NDArray[np.int64], severity: int | None) -> npt.NDArray[np.uint8]:
        """Return the images of some rows of the other dataset, corrupted at a severity, if any."""
        # Imported late because they load SciPy and Numba.
        from matcheval.datasets.corruptions.applying import corrupt
        from matcheval.datasets.corruptions.digital import jpeg_compression

        settings, images = self.settings, self._read_clean(rows)
        if severity is not None:
            images = corrupt(
                images, settings.corruption, severity, rows,
                seed=settings.seed, size=self.parameters, textures=self.textures,
            )  # fmt: skip
        if self.quality is not None:
            images = jpeg_compression(images, self.quality)
        return _restore(images, self.source) if settings.restore else images

    def _read_clean(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Return images of the other dataset as RGB, in the size in which they are corrupted."""
        source = self.source
        if self.side is None or self.settings.restore:
            pixels = source.pixels[rows]
            images = np.ascontiguousarray(rgb_pixels(pixels, source.max_value))
            if self.side is not None:
                factor = self.side // images.shape[1]
                images = images.repeat(factor, axis=1).repeat(factor, axis=2)
        else:
            shorter = round(self.side * (_MARGIN if self.parameters == _LARGE else 1))
            images = np.stack([_crop(source.image(int(row)), shorter, self.side) for row in rows])
        release(source.images)
        return images


def _check_restorable(source: Dataset, height: int, width: int) -> None:
    """Raise an error unless images of this size can be averaged to the source's size."""
    if source.stored == "files" or height % source.image_shape[0] or width % source.image_shape[1]:
        size = f"images of {height} × {width} pixels"
        problem = f"{size} cannot be averaged to those of '{source.name}' in whole pixels"
        remedy = "Give a multiple of their side as 'size', or leave 'restore' out"
        raise InputError(problem, field="restore", remedy=remedy)


def _restore(images: npt.NDArray[np.uint8], source: Dataset) -> npt.NDArray[np.uint8]:
    """Bring images to the source's format by averages of blocks, in exact integer arithmetic."""
    height, width, channels = source.image_shape
    blocks = images.reshape(len(images), height, -1, width, images.shape[2] // width, 3)
    sums = blocks.sum(axis=(2, 4), dtype=np.int64)
    ones = 255 * blocks.shape[2] * blocks.shape[4]
    if channels == 1:
        sums, ones = sums @ _GREY[:, np.newaxis], ones * int(_GREY.sum())
    rounded = (2 * sums * source.max_value + ones) // (2 * ones)
    return np.asarray(rounded, dtype=np.uint8)


def _crop(image: Image.Image, shorter: int, side: int) -> npt.NDArray[np.uint8]:
    """Resize an image by its shorter side and take the central square, like torchvision."""
    if image.size != (side, side):
        scale = shorter / min(image.size)
        width, height = (shorter if n == min(image.size) else int(n * scale) for n in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR)
        left, top = round((width - side) / 2), round((height - side) / 2)
        image = image.crop((left, top, left + side, top + side))
    return np.asarray(image)


@dataset_kind
class Restyled(_Transformed):
    """The images of another dataset in another style, as a domain of the same task."""

    kind: Literal["restyled"]
    of: Name = Field(description="The other dataset, of this study; its images are arrays")
    style: Literal["inverted", "background"] = Field(
        description="Inverted grey levels, or the difference to a random smooth background"
    )
    seed: Seed = Field(0, description="Seed of the backgrounds")

    @property
    def needs_one_size(self) -> bool:
        """Whether the other dataset's images must be pixels of one size: always."""
        return True

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build a restyled version of a dataset whose images are an array of pixels."""
        source = sources.dataset(self.of)
        pixels = np.asarray(source.pixels[:], np.uint8)
        if self.style == "inverted":
            restyled = (source.max_value - pixels).astype(np.uint8)
        else:
            restyled = over_backgrounds(pixels, source.max_value, self.seed)
        return replace(
            source, name=name, images=restyled, source=f"{source.name}, {self.style}",
            sha256=content_digest(restyled, source.labels),
            provenance={"of": {source.name: source.sha256}},
        )  # fmt: skip


def over_backgrounds(
    pixels: npt.NDArray[np.uint8], max_value: int, seed: int
) -> npt.NDArray[np.uint8]:
    """Return the absolute difference of each image and a random smooth background of its own."""
    n, height, width, channels = pixels.shape
    coarse = np.random.default_rng(seed).random((n, _COARSE, _COARSE, channels))
    rows, columns = (_interpolation_weights(length) for length in (height, width))
    smooth = np.einsum("ya,nabc,xb->nyxc", rows, coarse, columns)
    return np.asarray(np.abs(np.rint(max_value * smooth) - pixels), np.uint8)


def _interpolation_weights(length: int) -> npt.NDArray[np.float64]:
    """Return the weights of coarse values for linear interpolation, shape (length, coarse)."""
    place = np.linspace(0, _COARSE - 1, length)
    distance = np.abs(place[:, np.newaxis] - np.arange(_COARSE))
    return np.asarray(np.maximum(0, 1 - distance))
