"""Analyses with one table per pair, computed from all models' predictions on both sets."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from matcheval.execution import resources
from matcheval.protocol.analysis import Matching
from matcheval.settings import Names, Settings
from matcheval.study.analysis import Analysis, Wildcards
from matcheval.study.sizes import dataset_size

if TYPE_CHECKING:
    from matcheval.study.study import Study


class PairTableSettings(Settings):
    """The pairs that tables are made for, and the models in these tables."""

    pairs: Names = Field((), description="Pairs of datasets that a table is made for")
    without: Names = Field((), description="Models to leave out")


class PairTableAnalysis(Analysis):
    """An analysis with one table per pair, by the matchings and seeds of the block `matching`.

    The rules of all such analyses are in `rules/pair_tables.smk`, so that none needs a rule file of
    its own. The module `tables` of the room has `SCHEMA` (a `TableSchema`), `tabulate(known,
    **options)`, which makes the table from `ComparedModels`, and `text_columns(table)`, which lays
    it out for reading. `compare` (api/comparison.py) makes the same of prediction files.

    Attributes
    ----------
    has_figure : bool
        Whether the room's module `figures` has `plot(table)`.
    """

    rule_files: ClassVar[tuple[str, ...]] = ("pair_tables",)
    has_figure: ClassVar[bool] = False
    Settings: ClassVar[type[PairTableSettings]] = PairTableSettings
    settings: PairTableSettings

    def __init__(self, settings: Any, study: "Study") -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{pair}"}
        self.result = self.table("{pair}", self.name, labels)
        self.plot = self.figure(f"{self.name}/{{pair}}", self.name, labels)

    @classmethod
    def options(cls, settings: PairTableSettings) -> dict[str, Any]:
        """Return the further arguments of `tables.tabulate`: the analysis's own settings.

        Parameters
        ----------
        settings : PairTableSettings
        """
        return settings.model_dump(mode="json", exclude=set(PairTableSettings.model_fields))

    @property
    def matching(self) -> Matching:
        """The analysis that names matchings and seeds."""
        return self.study.analysis(Matching)

    def check(self) -> None:
        """Check pairs and models.

        Raises
        ------
        InputError
            If a pair or model is unknown, a pair cannot be matched, or no model is left.
        """
        self.study.check_models(self.settings.without, self.field("without"))
        for pair in self.settings.pairs:
            self.study.check_pair(pair, self.field("pairs"))
            self.matching.runs.check_can_be_matched(pair)
        if self.settings.pairs:
            self.check_some_models()

    @property
    def runs_per_seed(self) -> int:
        """How often a model is matched for each run of the protocol, for estimates of time."""
        return 1

    @property
    def targets(self) -> list[str]:
        """Tables, and figures if there are such."""
        artifacts = [self.result, self.plot] if self.has_figure else [self.result]
        pairs = self.settings.pairs
        return [file for artifact in artifacts for file in artifact.expand(pair=pairs)]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a pair's table is made from.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        files = self.matching.gaps.inputs(wildcards, self.models)
        return [*files, *self.matching.classes_of_pair(wildcards)]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a pair's table.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        return {
            "room": self.room,
            **self.matching.gaps.parameters(wildcards, self.models),
            "options": self.options(self.settings),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files that a pair's table is made from.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        return self.matching.gaps.custom_files_state(wildcards, self.models)

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and of runs, and the size of the larger set."""
        return {f"tabulate_{self.name}": self._request}

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self.study, name).images for name in datasets)
        matching = self.matching.settings
        n_runs = matching.seeds * len(matching.methods) * self.runs_per_seed
        return resources.of_matching(len(self.models), n_runs, images)
