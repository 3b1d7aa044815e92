"""Analyses with one table per pair, computed from all models' predictions on both sets."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from matcheval.protocol.analysis import Matching
from matcheval.protocol.compared_models import ComparedModels, PairFiles
from matcheval.settings import ModelNames, Name, Need, Ref, Settings, UniqueTuple
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis

_MatchedPair = Annotated[Name, Ref("pair", Need.PROBABILITIES)]


class PairTableSettings(Settings):
    """The pairs that tables are made for, and the models in these tables."""

    pairs: UniqueTuple[_MatchedPair] = Field(
        (), description="Pairs of datasets that a table is made for"
    )
    without: ModelNames = Field((), description="Models to leave out")


def read_pair(*, files: PairFiles) -> tuple[ComparedModels]:
    """Read the predictions of all models on both sets."""
    return (files.read(),)


class PairTableAnalysis(TableAnalysis):
    """An analysis with one table per pair, by the matchings and seeds of the block `matching`.

    `tabulate(compared, **options)` makes the table from `ComparedModels`; `compare`
    (api/comparing.py) makes the same of prediction files.
    """

    per = "pair"
    read = read_pair
    Settings: ClassVar[type[PairTableSettings]] = PairTableSettings
    settings: PairTableSettings

    @property
    def matching(self) -> Matching:
        """The analysis that names matchings and seeds."""
        return self.study.analysis(Matching)

    @property
    def runs_per_seed(self) -> int:
        """How often a model is matched for each run of the protocol, for estimates of time."""
        return 1

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a pair's table is made from."""
        return self.matching.inputs_with_groups(wildcards.pair, self.models)

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_pair`."""
        return {"files": self.matching.files(wildcards.pair, self.models)}

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files that a pair's table is made from."""
        return self.matching.custom_files_state(wildcards.pair, self.models)
