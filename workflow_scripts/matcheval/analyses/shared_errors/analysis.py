"""The analysis of errors that models share."""

from typing import Any, ClassVar

from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings


class SharedErrors(DatasetTableAnalysis):
    """Compare which datapoints every two models misclassify."""

    name: ClassVar[str] = "shared_errors"
    Settings: ClassVar[type[DatasetTableSettings]] = DatasetTableSettings
    has_figure: ClassVar[bool] = True

    @property
    def options(self) -> dict[str, Any]:
        """No options: the table has no confidence intervals."""
        return {}
