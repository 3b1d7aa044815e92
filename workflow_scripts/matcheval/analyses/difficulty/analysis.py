"""The analysis of image difficulty: settings, checks and files."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.errors import configuration_error
from matcheval.replication.analysis import Replication
from matcheval.settings import Names, Number, Seed, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study


class DifficultySettings(Settings):
    """Pairs that the Gaussian model of difficulty is fitted to, and its free parameter."""

    pairs: Names = Field(
        (), description="Pairs of datasets that the model of difficulty is fitted to"
    )
    sigma: Annotated[Number, Field(ge=0)] = Field(
        1.0,
        description="Standard deviation of the original's difficulties, a free choice",
    )
    seed: Seed = Field(0, description="Seed of the simulated datasets")
    without: Names = Field((), description="Models to leave out")


class Difficulty(Analysis):
    """Fit the Gaussian model of difficulty to the probit fits of the replication analysis."""

    name: ClassVar[str] = "difficulty"
    Settings: ClassVar[type[DifficultySettings]] = DifficultySettings
    settings: DifficultySettings

    def __init__(self, settings: DifficultySettings, study: Study) -> None:
        super().__init__(settings, study)
        stem, labels = "{pair}-top{top}", {"table": self.name, "of": "{pair}-top{top}"}
        self.result = self.table(stem, "difficulty", labels)
        self.skills = Artifact(f"{study.folder}/difficulty/{stem}.skills", (".parquet",))
        self.plot = self.figure(f"difficulty/{stem}", "difficulty", labels)

    @property
    def replication(self) -> Replication:
        """The analysis whose probit fits the model explains."""
        return self.study.analysis(Replication)

    def check(self) -> None:
        """Check names of pairs and models, and that there are probit fits."""
        self.study.check_models(self.settings.without, self.field("without"))
        for pair in self.settings.pairs:
            self.study.check_pair(pair, self.field("pairs"))
        if self.settings.pairs and "probit" not in self.replication.fitted_scales:
            raise configuration_error(
                "the model of difficulty requires a probit fit",
                field=self.field("pairs"),
                remedy="Add probit to replication.scales; a fit requires at least three models",
            )

    @property
    def targets(self) -> list[str]:
        """Table, skills of the models and figure, for every pair and k of top-k."""
        each = {"pair": self.settings.pairs, "top": self.replication.settings.top}
        artifacts = (self.result, self.skills, self.plot)
        return [file for artifact in artifacts for file in artifact.expand(**each)]

    @property
    def parameters(self) -> dict[str, Any]:
        """Models and parameters that the rule passes to its script."""
        left_out = self.settings.without
        return {
            "models": [name for name in self.study.models if name not in left_out],
            "sigma": self.settings.sigma,
            "seed": self.settings.seed,
        }

    def results_of_pair(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the tables of accuracies and of fits of a pair."""
        values = {"pair": wildcards.pair, "top": wildcards.top}
        return {
            "results": self.replication.result.file(".parquet", **values),
            "fits": self.replication.fits.file(".parquet", **values),
        }
