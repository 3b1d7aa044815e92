"""On which sets models are trained, and how: the configuration's block `training`."""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from matcheval.settings import Boolean, Count, Name, NameOrNames, Number, Settings


@dataclass(frozen=True)
class Engine:
    """How a training uses the machine; it affects only the rounding of the weights."""

    device: str = "cpu"
    n_threads: int = 1
    channels_last: bool = False
    compile: bool = False
    deterministic: bool = True
    validate_every: int = 1
    save_minutes: float = 10.0

    def identity(self, device_type: str) -> dict[str, str]:
        """Return the settings that must be equal for a training to be resumed."""
        values = asdict(self) | {"device": device_type}
        irrelevant = ["validate_every", "save_minutes"]
        for name in irrelevant if device_type == "cpu" else [*irrelevant, "n_threads"]:
            del values[name]
        return {name: str(value) for name, value in values.items()}


class TrainingSettings(Settings):
    """The sets that models are trained and validated on, and how the machine is used."""

    train: NameOrNames = Field(
        (),
        description="The training set, or a list of several (domains), of models of the catalogue",
    )
    validation: Name | None = Field(
        None,
        description="Its accuracy is recorded; no choice depends on it, unless a recipe says so",
    )
    device: Literal["cpu", "cuda", "mps", "auto"] = Field("cpu", description="auto: the best one")
    threads: Count = Field(1, description="CPU threads of one training")
    channels_last: Boolean = Field(False, description="Memory layout: faster on most hardware")
    compile: Boolean = Field(False, description="torch.compile: a slower start, faster steps")
    deterministic: Boolean = Field(True, description="On a GPU too, as far as torch can")
    validate_every: Count = Field(1, description="Epochs between two validations")
    models_per_job: Literal["auto", 1] = Field(
        "auto", description="auto: short trainings on a CPU are run by one job; 1: a job for each"
    )
    save_minutes: Annotated[Number, Field(ge=0)] = Field(
        10, description="Minutes between two saved states of an unfinished training"
    )

    @model_validator(mode="after")
    def _require_both_sets(self) -> "TrainingSettings":
        if bool(self.train) != (self.validation is not None):
            missing = "validation" if self.train else "train"
            raise ValueError(f"{missing} missing: name both sets, or neither")
        return self

    @property
    def validation_sets(self) -> tuple[str, ...]:
        """The name of the validation set in a tuple, which is empty if there is none."""
        return (self.validation,) if self.validation else ()

    @property
    def machine_options(self) -> str:
        """Command-line options of `train_models` for device, speed and saving."""
        words = ["--device", self.device]
        words += ["--channels-last"] * self.channels_last + ["--compile"] * self.compile
        words += [] if self.deterministic else ["--no-deterministic"]
        words += ["--validate-every", str(self.validate_every)]
        return " ".join([*words, "--save-minutes", f"{self.save_minutes:g}"])
