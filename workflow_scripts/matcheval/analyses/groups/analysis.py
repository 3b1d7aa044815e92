"""Accuracy by groups of datapoints, as an analysis."""

from typing import ClassVar

from matcheval.study.dataset_tables import DatasetFileSettings, DatasetTableAnalysis


class Groups(DatasetTableAnalysis):
    """Compares accuracies within the groups that the user divides a dataset into."""

    name: ClassVar[str] = "groups"
    Settings: ClassVar[type[DatasetFileSettings]] = DatasetFileSettings
