"""The analysis of published values: settings, checks and files."""

from functools import cached_property
from typing import ClassVar

from pydantic import Field

from matcheval.analyses.published_values.tables import PublishedValue, read_published, tables_of
from matcheval.errors import InputError, suggest
from matcheval.settings import Settings
from matcheval.study.analysis import Analysis
from matcheval.study.study import Study


class PublishedValuesSettings(Settings):
    """The published values that results are compared with."""

    file: str = Field("", description="CSV file of the published values; empty for none")


class PublishedValues(Analysis):
    """Compare every published value with its counterpart in a table of the study."""

    name: ClassVar[str] = "published_values"
    Settings: ClassVar[type[PublishedValuesSettings]] = PublishedValuesSettings
    settings: PublishedValuesSettings

    def __init__(self, settings: PublishedValuesSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.result = self.table("comparison", "published_values", {"table": self.name})

    @cached_property
    def values(self) -> list[PublishedValue]:
        """The values published for this study; empty without a file."""
        return read_published(self.settings.file, self.study.name) if self.settings.file else []

    def check(self) -> None:
        """Check that the study writes the tables that values are looked up in."""
        written = self._tables_of_the_study if self.values else []
        for value in self.values:
            if value.table and value.table not in written:
                raise InputError(
                    f"the study does not write a table '{value.table}'",
                    file=value.place,
                    field="table",
                    remedy=suggest(value.table, written),
                )

    @property
    def targets(self) -> list[str]:
        """The comparison, if there are published values."""
        return self.result.files if self.settings.file else []

    @property
    def tables(self) -> list[str]:
        """Files of the tables that values are looked up in."""
        return [f"{self.study.folder}/{table}.parquet" for table in tables_of(self.values)]

    @property
    def _tables_of_the_study(self) -> list[str]:
        """Parquet tables of accuracies and of the other analyses, as paths without suffix."""
        others = (one for one in self.study.analyses.values() if one is not self)
        accuracies = map(self.study.accuracies_file, self.study.paired)
        files = [*accuracies, *(file for one in others for file in one.targets)]
        below = f"{self.study.folder}/"
        return [
            file.removeprefix(below).removesuffix(".parquet")
            for file in files
            if file.startswith(below) and file.endswith(".parquet")
        ]
