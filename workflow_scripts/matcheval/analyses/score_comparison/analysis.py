"""The analysis of uncertainty scores: settings, and the validation data of a temperature."""

from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import Field

from matcheval.analyses.score_comparison.figures import plot  # noqa: F401
from matcheval.analyses.score_comparison.tables import SCHEMA, tabulate, text_columns  # noqa: F401
from matcheval.errors import configuration_error
from matcheval.predictions.layout import layout_of
from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings
from matcheval.settings import Name, Named, SomeNames
from matcheval.study.rules import Wildcards


class ScoreComparisonSettings(PairTableSettings):
    """Pairs that are matched on several uncertainty scores."""

    validation: Name | None = Field(
        None, description="Dataset that a temperature is fitted on; no set of the pairs"
    )
    ensembles: Named[SomeNames] = Field(
        {}, description="Models whose votes are counted, by name of the ensemble"
    )


class ScoreComparison(PairTableAnalysis):
    """Match every model on several uncertainty scores, all of them on ranks."""

    name: ClassVar[str] = "score_comparison"
    caption: ClassVar[str] = (
        "Matched gap and share of unmatched targets on **{{ snakemake.wildcards.pair }}**, with "
        "datapoints matched on the pooled ranks of several uncertainty scores. Small points are "
        "models, large ones means over models; dashed is the mean gap of all datapoints."
    )
    Settings: ClassVar[type[ScoreComparisonSettings]] = ScoreComparisonSettings
    settings: ScoreComparisonSettings
    has_figure: ClassVar[bool] = True

    @classmethod
    def options(cls, settings: PairTableSettings) -> dict[str, Any]:
        """Return the ensembles; the files on validation data are added for a study."""
        assert isinstance(settings, ScoreComparisonSettings)
        return {"ensembles": {name: list(of) for name, of in settings.ensembles.items()}}

    def check(self) -> None:
        """Check pairs, models, ensembles and the validation set."""
        super().check()
        for name, members in self.settings.ensembles.items():
            field = self.field("ensembles", name)
            self.study.check_models(members, field)
            problem = f"'{name}' is a model, too" if name in self.study.models else ""
            left_out = [member for member in members if member not in self.models]
            if left_out:
                problem = f"'{left_out[0]}' is left out"
            if problem:
                raise configuration_error(problem, field=field)
        if self.settings.validation is not None:
            self._check_validation(self.settings.validation)

    def _check_validation(self, validation: str) -> None:
        field = self.field("validation")
        self.study.check_dataset(validation, field)
        if not self.study.datasets[validation].has_probabilities:
            raise configuration_error(f"'{validation}' has no prediction files", field=field)
        for pair in self.settings.pairs:
            if validation in self.study.pairs[pair].datasets.values():
                raise configuration_error(
                    f"'{validation}' is a set of pair '{pair}'",
                    field=field,
                    remedy="Fit the temperature on data that are in neither set",
                )

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The validation set."""
        validation = self.settings.validation
        is_needed = validation in self.study.datasets and self.settings.pairs
        return (validation,) if validation and is_needed else ()

    @property
    def runs_per_seed(self) -> int:
        """Five scores, on ranks and, but for the energy, as they are; reading takes longest."""
        return 20

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of a pair, and of the validation set."""
        validation = self.settings.validation
        further = self.study.results_inputs(validation, self.models) if validation else []
        return list(dict.fromkeys([*super().inputs(wildcards), *further]))

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a pair's table, with the files on the validation set."""
        parameters, validation = super().arguments(wildcards), self.settings.validation
        if validation:
            layout = asdict(layout_of(self.study.datasets[validation]))
            parameters["options"]["validation"] = {
                model: {"path": self.study.predictions_file(validation, model), "layout": layout}
                for model in self.models
            }
        return parameters

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files of the pair and the validation set."""
        validation = self.settings.validation
        further = self.study.custom_results_state(validation, self.models) if validation else []
        return [*super().custom_files_state(wildcards), *further]
