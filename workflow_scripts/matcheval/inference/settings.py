"""How models are run on datasets: the configuration's block `inference`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from matcheval.inference import N_TOP
from matcheval.models.published import Published
from matcheval.models.transforms import Geometry, Transform
from matcheval.settings import Boolean, Count, Integer, Settings, UniqueTuple

# Settings that predictions depend on, if only in their last bits. All others change nothing.
DECIDING = ("device", "precision", "compile")

MODELS_PER_GPU_JOB = 8


# Pixels of a batch of automatic size, and its maximum number of images: large enough to keep the
# device busy, small enough for the activations of most models.
_BATCH_PIXELS = {"cpu": 64 * 224**2, "mps": 128 * 224**2, "cuda": 512 * 224**2}
_MOST_IMAGES = {"cpu": 64, "mps": 512, "cuda": 2048}


@dataclass(frozen=True)
class InferenceConfig:
    """How a forward pass is computed; only the settings in `DECIDING` change predictions."""

    device: str = "cpu"  # or `cuda`, `mps`, or `auto` until `forward.resolved` has chosen one
    batch_size: Literal["auto"] | int = "auto"  # it may change the last bits of the logits
    n_threads: int = 1  # of the model; equally many further threads decode images
    precision: str = "fp32"  # `fp32`, `tf32`, `bf16` or `fp16`; logits are stored in float32
    compile: bool = False  # by `torch.compile`: minutes at first, then faster batches
    n_top: int = N_TOP  # classes that the output `top` keeps of every datapoint

    def images_at_a_time(self, height: int, width: int) -> int:
        """Return the batch size for images of a given size: the configured or the automatic one."""
        if isinstance(self.batch_size, int):
            return self.batch_size
        size = 1 << max(0, int(math.log2(_BATCH_PIXELS[self.device] / (height * width))))
        return min(size, _MOST_IMAGES[self.device])


def deciding(config: "InferenceConfig | InferenceSettings") -> dict[str, Any]:
    """Return the settings that predictions depend on, by name: those in `DECIDING`."""
    return {key: getattr(config, key) for key in DECIDING}


class InferenceSettings(Settings):
    """How models are run, and what is kept of their outputs."""

    device: Literal["cpu", "cuda", "mps", "auto"] = Field("cpu", description="auto: the best one")
    batch_size: Literal["auto"] | Count = Field(
        "auto", description="Images at a time; auto chooses by image size and device"
    )
    threads: Count = Field(1, description="CPU threads of a model, and of decoding for it")
    precision: Literal["fp32", "tf32", "bf16", "fp16"] = Field(
        "fp32", description="Of the forward pass; the softmax is always computed in float64"
    )
    compile: Boolean = Field(False, description="torch.compile")
    outputs: UniqueTuple[Literal["logits", "features", "statistics", "top"]] = Field(
        (), description="What is written in addition to the predictions"
    )
    top: Annotated[Integer, Field(ge=1, le=1000)] = Field(
        N_TOP, description="How many classes the output `top` keeps of every datapoint"
    )
    models_per_job: Literal["auto"] | Count = Field(
        "auto",
        description="Models that share a transform and are run together, over one decoding of the "
        f"images; auto: {MODELS_PER_GPU_JOB} on a GPU; on the CPU, small ones together",
    )

    @model_validator(mode="after")
    def _check_tf32_device(self) -> "InferenceSettings":
        if self.precision == "tf32" and self.device in ("cpu", "mps"):
            problem = f"precision: device {self.device} has no tf32. Use fp32, or device cuda"
            raise ValueError(problem)
        return self

    @property
    def n_top_classes(self) -> int:
        """How many classes of every datapoint are kept: 1 unless `top` is among the outputs."""
        return self.top if "top" in self.outputs else 1

    @property
    def machine_options(self) -> str:
        """The batch size as an option of the command line of `predict_datasets`."""
        return f"--batch-size {self.batch_size}"


@dataclass(frozen=True)
class InferencePlan:
    """Which weights a study's models need for inference, and which models share a job."""

    settings: InferenceSettings
    published: Mapping[str, Published]

    @property
    def weights_urls(self) -> dict[str, str]:
        """URLs of the weights that are downloaded, by the name of their file."""
        return {model.file_name: model.url for model in self.published.values() if model.url}

    def geometry(self, model: str) -> Geometry:
        """Return the resizing and cropping of a model's input images."""
        if model not in self.published:
            return Geometry()
        return Transform.from_json(self.published[model].transform).geometry

    def batches(self, models: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the models of each job, by its name: one, or several that share a transform."""
        by_geometry: dict[str, list[str]] = {}
        batches: dict[str, tuple[str, ...]] = {}
        size = self.settings.models_per_job
        if size == "auto":
            size = 1 if self.settings.device == "cpu" else MODELS_PER_GPU_JOB
        for model in models:
            geometry = self.geometry(model).name
            if geometry == "none" or size == 1:
                batches[model] = (model,)
            else:
                by_geometry.setdefault(geometry, []).append(model)
        for geometry, names in by_geometry.items():
            for number, start in enumerate(range(0, len(names), size), 1):
                batches[f"{geometry}.batch-{number}"] = tuple(names[start : start + size])
        return batches
