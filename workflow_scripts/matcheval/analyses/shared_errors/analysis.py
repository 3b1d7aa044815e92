"""Errors that models have in common, as an analysis."""

from typing import Any, ClassVar

from matcheval.study.dataset_tables import DatasetTableAnalysis, DatasetTableSettings


class SharedErrors(DatasetTableAnalysis):
    """Compares which datapoints every two models misclassify."""

    name: ClassVar[str] = "shared_errors"
    Settings: ClassVar[type[DatasetTableSettings]] = DatasetTableSettings
    has_figure: ClassVar[bool] = True

    @property
    def options(self) -> dict[str, Any]:
        """None: there are no intervals."""
        return {}
