"""The analysis of accuracy within groups of datapoints."""

from typing import ClassVar

from matcheval.study.tables import DatasetFileSettings, DatasetTableAnalysis


class Groups(DatasetTableAnalysis):
    """Compare accuracies within groups of datapoints that the user defines."""

    name: ClassVar[str] = "groups"
    Settings: ClassVar[type[DatasetFileSettings]] = DatasetFileSettings
    file_columns: ClassVar[tuple[str, ...]] = ("index", "group")
