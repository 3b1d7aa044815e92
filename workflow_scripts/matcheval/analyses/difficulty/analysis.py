"""The Gaussian model of difficulty, as an analysis."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.errors import InputError
from matcheval.replication.analysis import Replication
from matcheval.settings import Names, Number, Seed, Settings
from matcheval.study.analysis import Analysis, Wildcards
from matcheval.study.artifacts import Artifact
from matcheval.study.study import Study


class DifficultySettings(Settings):
    """Pairs that the model is fitted to, and what accuracies do not determine."""

    pairs: Names = Field((), description="Pairs that the model is fitted to")
    sigma: Annotated[Number, Field(ge=0)] = Field(
        1.0,
        description="Standard deviation of the original's difficulties, not known from accuracies",
    )
    seed: Seed = Field(0, description="Of the simulated sets")
    without: Names = Field((), description="Models that are not counted")


class Difficulty(Analysis):
    """Fits the model to the probit fits of the replication study."""

    name: ClassVar[str] = "difficulty"
    Settings: ClassVar[type[DifficultySettings]] = DifficultySettings
    settings: DifficultySettings

    def __init__(self, settings: DifficultySettings, study: Study) -> None:
        super().__init__(settings, study)
        stem, labels = "{pair}-top{top}", {"table": self.name, "of": "{pair}-top{top}"}
        self.result = self.table(stem, "difficulty", labels)
        self.skills = Artifact(f"{study.folder}/difficulty/{stem}.skills", (".parquet",))
        self.plot = self.figure(
            f"difficulty/{stem}", "difficulty", {**labels, "of": f"{stem} (figure)"}
        )

    @property
    def replication(self) -> Replication:
        """The analysis whose fits are explained."""
        return self.study.analysis(Replication)

    def check(self) -> None:
        """Check pairs and models, and that there are probit fits."""
        self.study.check_models(self.settings.without, self.field("without"))
        for pair in self.settings.pairs:
            self.study.check_pair(pair, self.field("pairs"))
        if self.settings.pairs and "probit" not in self.replication.fitted_scales:
            raise InputError(
                "the model of difficulty needs a probit fit",
                file="configuration",
                field=self.field("pairs"),
                remedy="Add probit to replication.scales; at least three models are needed",
            )

    @property
    def targets(self) -> list[str]:
        """Tables, skills of the models and a figure, per pair and k."""
        each = {"pair": self.settings.pairs, "top": self.replication.settings.top}
        artifacts = (self.result, self.skills, self.plot)
        return [file for artifact in artifacts for file in artifact.expand(**each)]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the model depends on, besides accuracies and fits."""
        left_out = self.settings.without
        return {
            "models": [name for name in self.study.models if name not in left_out],
            "sigma": self.settings.sigma,
            "seed": self.settings.seed,
        }

    def results_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the tables of accuracies and of fits that the model explains.

        Parameters
        ----------
        wildcards : Wildcards
            `pair` and `top`.
        """
        values = {"pair": wildcards.pair, "top": wildcards.top}
        return {
            "results": self.replication.result.file(".parquet", **values),
            "fits": self.replication.fits.file(".parquet", **values),
        }
