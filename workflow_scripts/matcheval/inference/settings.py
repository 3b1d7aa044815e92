"""How models are run on datasets: the configuration's block `inference`."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from matcheval.inference import N_TOP
from matcheval.settings import Boolean, Count, Integer, Settings, Unique, UniqueItems

# Settings that predictions depend on, if only in their last bits. All others change nothing.
DECIDING = ("device", "precision", "compile")


class InferenceSettings(Settings):
    """How models are run, and what is kept of their outputs."""

    device: Literal["cpu", "cuda", "mps", "auto"] = Field("cpu", description="auto: the best one")
    batch_size: Literal["auto"] | Count = Field(
        "auto", description="Images at a time; auto chooses by image size and device"
    )
    threads: Count = Field(1, description="CPU threads of a model, and of decoding for it")
    precision: Literal["fp32", "tf32", "bf16", "fp16"] = Field(
        "fp32", description="Of the forward pass; the softmax is always computed in float32"
    )
    compile: Boolean = Field(False, description="torch.compile")
    outputs: Annotated[
        tuple[Literal["logits", "features", "statistics", "top"], ...], Unique, UniqueItems
    ] = Field((), description="What is written in addition to the predictions")
    top: Annotated[Integer, Field(ge=1, le=1000)] = Field(
        N_TOP, description="How many classes the output `top` keeps of every datapoint"
    )
    pixel_cache: Boolean = Field(
        True, description="Decode and resize images once for models that share a transform"
    )
    keep_pixels: Boolean = Field(
        False, description="Keep these images when all predictions are made (gigabytes)"
    )

    @model_validator(mode="after")
    def _tf32_is_for_cuda(self) -> "InferenceSettings":
        if self.precision == "tf32" and self.device in ("cpu", "mps"):
            raise ValueError(
                f"precision: device {self.device} has no tf32. Use fp32, or device cuda"
            )
        return self

    @property
    def deciding(self) -> dict[str, Any]:
        """The settings that predictions depend on."""
        return {key: getattr(self, key) for key in DECIDING}

    @property
    def n_top_classes(self) -> int:
        """How many classes of every datapoint are kept: 1 unless `top` is among the outputs."""
        return self.top if "top" in self.outputs else 1

    @property
    def machine_options(self) -> str:
        """How the machine is used, as options of the command `predict_dataset`."""
        return f"--batch-size {self.batch_size}"
