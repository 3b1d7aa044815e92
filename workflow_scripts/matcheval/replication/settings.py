"""The settings of the replication tables that people choose. Light to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from matcheval.statistics.scales import Scale


class Extremes(StrEnum):
    """What becomes of models with accuracy 0 or 1, which is infinite on the probit scale."""

    LEAVE_OUT = "leave_out"
    CLIP = "clip"


@dataclass(frozen=True)
class ReplicationSettings:
    """How replication tables and fits are made.

    Attributes
    ----------
    top : tuple of int
        A prediction is right if the label is among so many classes.
    scales : tuple of Scale
        Of the fits and figures; none for neither.
    confidence : float
        Of all intervals.
    resamples, seed : int
        Of the bootstrap over models.
    extremes : Extremes
    fit_without : tuple of str, or mapping from scales to such
        Models in tables and ranks, but in no fit, or not in that on a scale.
    fit_range : tuple of float
        Least and largest original accuracy of the models fitted.
    range_without : tuple of str
        Models left out of the range that average changes are compared to.
    published : str
        CSV file of published values to set the results beside; empty for none.
    """

    top: tuple[int, ...]
    scales: tuple[Scale, ...]
    confidence: float
    resamples: int
    seed: int
    extremes: Extremes
    fit_without: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    fit_range: tuple[float, float] = (0.0, 1.0)
    range_without: tuple[str, ...] = ()
    published: str = ""

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> "ReplicationSettings":
        """Read what the configuration's schema has passed."""
        return cls(
            top=tuple(given["top"]),
            scales=tuple(map(Scale, given["scales"])),
            confidence=float(given["confidence"]),
            resamples=int(given["resamples"]),
            seed=int(given["seed"]),
            extremes=Extremes(given["extremes"]),
            fit_without=_names(given["fit_without"]),
            fit_range=(float(given["fit_range"][0]), float(given["fit_range"][1])),
            range_without=tuple(given.get("range_without", ())),
            published=given.get("published", ""),
        )

    @property
    def of_fits(self) -> dict[str, Any]:
        """What fits depend on, as a rule's parameter."""
        return {
            "scales": [scale.value for scale in self.scales],
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
            "extremes": self.extremes.value,
            "fit_range": list(self.fit_range),
            "fit_without": {scale.value: list(self.left_out(scale)) for scale in self.scales},
        }

    def left_out(self, scale: Scale) -> tuple[str, ...]:
        """Models left out of the fit on a scale."""
        if isinstance(self.fit_without, tuple):
            return self.fit_without
        return self.fit_without.get(scale.value, ())


def _names(given: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if isinstance(given, Mapping):
        return {scale: tuple(names) for scale, names in given.items()}
    return tuple(given)
