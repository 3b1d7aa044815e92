"""The configuration's block `replication`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, field_validator

from matcheval.settings import Count, Fraction, Integer, Names, Settings, Unique, UniqueItems
from matcheval.statistics.lines import Scale


class Extremes(StrEnum):
    """What happens to models with accuracy 0 or 1, which is infinite on the probit scale."""

    LEAVE_OUT = "leave_out"
    CLIP = "clip"


class ModelsByScale(Settings):
    """Names of models, for each scale of a fit."""

    linear: Names = Field((), description="Models left out of the linear fit")
    probit: Names = Field((), description="Models left out of the probit fit")


def _for_both_scales(given: Any) -> Any:
    """Take a list of models for the models of both scales."""
    return {"linear": given, "probit": given} if isinstance(given, list | tuple) else given


class ReplicationSettings(Settings):
    """How accuracies are tabulated, and lines are fitted through them."""

    top: Annotated[tuple[Count, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (1,), description="A prediction is correct if the label is among the k top classes"
    )
    scales: Annotated[tuple[Scale, ...], Unique, UniqueItems] = Field(
        (Scale.LINEAR, Scale.PROBIT), description="Of the fits and their figures; [] for none"
    )
    resamples: Count = Field(100_000, description="Bootstrap resamples of the models, per fit")
    seed: Annotated[Integer, Field(ge=0, le=2**32 - 1)] = Field(
        720257663, description="Of the bootstrap; the number in the code of Recht et al."
    )
    extremes: Extremes = Field(
        Extremes.LEAVE_OUT,
        description="Accuracies of 0 or 1 are infinite on the probit scale: they are left out of "
        "that fit, or clipped to (k + 1/2) / (n + 1)",
    )
    fit_without: Annotated[
        ModelsByScale,
        BeforeValidator(_for_both_scales, json_schema_input_type=Names | ModelsByScale),
    ] = Field(ModelsByScale(), description="Models that are tabulated and ranked, but not fitted")
    fit_range: tuple[Fraction, Fraction] = Field(
        (0.0, 1.0), description="Original accuracies of the models that are fitted"
    )
    range_without: Names = Field(
        (), description="Models left out of the range that average changes are compared with"
    )

    renamed: ClassVar[Mapping[str, str]] = {
        "confidence": "'confidence', at the top level: the level of all intervals",
        "published": "'published_values.file'",
    }

    @field_validator("fit_range")
    @classmethod
    def _is_ascending(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        low, high = bounds
        if low >= high:
            raise ValueError(
                f"{low:g} is not below {high:g}. Give the lowest original accuracy first"
            )
        return bounds

    def left_out(self, scale: Scale) -> tuple[str, ...]:
        """Return the models left out of the fit on a scale."""
        names: tuple[str, ...] = getattr(self.fit_without, scale.value)
        return names
