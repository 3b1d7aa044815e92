"""Kinds of published datasets."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from matcheval.datasets.kind import Decoded, PixelFormat, Severity, Subset, paths_by_option
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.settings import (
    PathText,
)


class _Cifar(Subset):
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10

    @property
    def pixel_format(self) -> PixelFormat:
        """32 × 32 RGB images."""
        return PixelFormat(32)


class Cifar10(_Cifar):
    """CIFAR-10 (Krizhevsky 2009)."""

    kind: Literal["cifar10"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    builder: ClassVar[str] = "cifar.build_cifar10"

    @property
    def published_files(self) -> list[str]:
        """The archive that holds the training and the test set."""
        return ["cifar-10-python.tar.gz"]


class Cifar101(_Cifar):
    """CIFAR-10.1 (Recht et al. 2018)."""

    kind: Literal["cifar10_1"]
    version: Literal["v4", "v6"] = Field(description="v6 is exactly class-balanced")
    builder: ClassVar[str] = "cifar.build_cifar10_1"

    @property
    def published_files(self) -> list[str]:
        """A file of images and a file of labels."""
        return [f"cifar10.1_{self.version}_{what}.npy" for what in ("data", "labels")]


class Cifar102(_Cifar):
    """CIFAR-10.2 (Lu et al. 2020)."""

    kind: Literal["cifar10_2"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    builder: ClassVar[str] = "cifar.build_cifar10_2"

    @property
    def published_files(self) -> list[str]:
        """The file with images and labels of this part."""
        return [f"cifar102_{self.part}.npz"]


class Cifar10C(_Cifar):
    """CIFAR-10-C (Hendrycks & Dietterich 2019)."""

    kind: Literal["cifar10_c"]
    corruption: Literal[
        "brightness", "contrast", "defocus_blur", "elastic_transform", "fog", "frost",
        "gaussian_blur", "gaussian_noise", "glass_blur", "impulse_noise", "jpeg_compression",
        "motion_blur", "pixelate", "saturate", "shot_noise", "snow", "spatter", "speckle_noise",
        "zoom_blur",
    ] = Field(description="Kind of corruption")  # fmt: skip
    severity: Severity = Field(description="5 is the strongest, `all` joins them")
    builder: ClassVar[str] = "cifar.build_cifar10_c"

    @property
    def published_files(self) -> list[str]:
        """The archive that holds all corruptions."""
        return ["CIFAR-10-C.tar"]


class Cinic10(Decoded):
    """CINIC-10 (Darlow et al. 2018)."""

    kind: Literal["cinic10"]
    part: Literal["test", "valid", "train"] = Field(description="90,000 images each")
    builder: ClassVar[str] = "cifar.build_cinic10"
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10

    @property
    def published_files(self) -> list[str]:
        """The archive that holds the three parts."""
        return ["CINIC-10.tar.gz"]


class _ImageNetClasses(Decoded):
    @property
    def known_classes(self) -> tuple[str, ...]:
        """WordNet ids of ILSVRC 2012."""
        return imagenet_classes()


class ImageNet(_ImageNetClasses):
    """ImageNet's validation set (Russakovsky et al. 2015), which the user has to provide."""

    kind: Literal["imagenet"]
    source: PathText = Field(description="Archive of the images, or a folder of class folders")
    devkit: PathText | None = Field(None, description="Development kit, which has the labels")
    builder: ClassVar[str] = "imagenet.build_imagenet"

    @property
    def custom_paths(self) -> dict[str, list[Path]]:
        """Images, and the development kit that holds their labels."""
        return paths_by_option(source=self.source, devkit=self.devkit)


class ImageNetV2(_ImageNetClasses):
    """ImageNetV2 (Recht et al. 2019)."""

    kind: Literal["imagenetv2"]
    variant: Literal["matched-frequency", "threshold-0.7", "top-images"] = Field(
        description="How its images were sampled"
    )
    builder: ClassVar[str] = "imagenet.build_imagenetv2"

    @property
    def published_files(self) -> list[str]:
        """The variant's archive."""
        name = "threshold0.7" if self.variant == "threshold-0.7" else self.variant
        return [f"imagenetv2-{name}.tar.gz"]
