"""What `matcheval.compare` returns."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.api.compared import KINDS, Compared
from matcheval.api.estimates import Estimate
from matcheval.errors import unknown_name_error
from matcheval.protocol.settings import Criterion
from matcheval.protocol.words import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TABLES = ("gaps", "models", "accuracies")


@dataclass(frozen=True)
class GapEstimate:
    """What one matching criterion says of a gap: of one model, or of the mean over several.

    All quantities are fractions, not percent.

    Attributes
    ----------
    criterion : str
        `label_probability` (Algorithm 1 of the paper) or `probability` (Algorithm 2).
    gap : Estimate
        Accuracy on the original minus accuracy on the replication.
    matched_gap : Estimate
        The same of the matched subsets, mean over seeds.
    confidence_part, conditional_part : Estimate
        The part of the gap that goes with confidence, and the part at equal confidence; no
        matching is used.
    narrowing : float
        1 minus matched gap over gap; NaN for a gap of 0.
    reference_narrowing : float
        Narrowing of a gap of which confidence gives no warning; NaN where there is no reference.
    fraction_unmatched : float
        Share of the targets without a match, mean over seeds and models.
    verdict : str
        Whether the matched gap differs from 0 by more than sampling error.
    remarks : str
        Why values are NaN, and what else to know; most often empty.
    """

    criterion: str
    gap: Estimate
    matched_gap: Estimate
    confidence_part: Estimate
    conditional_part: Estimate
    narrowing: float
    reference_narrowing: float
    fraction_unmatched: float
    verdict: str
    remarks: str

    @classmethod
    def _of(cls, row: "pd.Series[float]") -> "GapEstimate":
        def estimate(name: str) -> Estimate:
            return Estimate(*(float(row[name + end]) for end in ("", "_low", "_high")))

        return cls(
            criterion=str(row["matching"]),
            gap=estimate("gap"),
            matched_gap=estimate("matched_gap"),
            confidence_part=estimate("confidence_part"),
            conditional_part=estimate("conditional_part"),
            narrowing=float(row["narrowing"]),
            reference_narrowing=float(row["reference_narrowing"]),
            fraction_unmatched=float(row["fraction_unmatched"]),
            verdict=verdict(row),
            remarks=str(row["remarks"]),
        )


@dataclass(frozen=True, eq=False)
class ComparisonResult:
    """Models on two sets, before and after matching; what `compare` returns.

    `print(result)` shows what `matched-eval compare` prints: of many models an overview.

    Attributes
    ----------
    title : str
        What is compared.
    original, replication, source : str
        Names of the sets, and of the one in which matches were sought.
    models : tuple of str
        Names of the models.
    gaps : mapping of str to GapEstimate
        By criterion; of the one model, or of the mean over all.
    warnings : tuple of str
        What looks wrong about the input, and where most targets are unmatched.
    analyses : tuple of str
        Further analyses, which are tables and figures by these names.
    """

    title: str
    original: str
    replication: str
    source: str
    models: tuple[str, ...]
    gaps: Mapping[str, GapEstimate]
    warnings: tuple[str, ...]
    analyses: tuple[str, ...]
    _compared: Compared = field(repr=False)
    _asked: str = field(repr=False)

    @classmethod
    def of(cls, compared: Compared, asked: str) -> "ComparisonResult":
        """Return what a comparison found.

        Parameters
        ----------
        compared : Compared
        asked : str
            What was asked for, for the report.
        """
        first, pair = compared.known.comparisons[0], compared.known.pair
        rows = [GapEstimate._of(row) for _, row in compared.gaps.means.iterrows()]
        return cls(
            title=compared.title,
            original=pair.original,
            replication=pair.replication,
            source=first.source_name,
            models=tuple(one.model for one in compared.known.comparisons),
            gaps={row.criterion: row for row in rows},
            warnings=tuple(compared.warnings),
            analyses=tuple(compared.analyses),
            _compared=compared,
            _asked=asked,
        )

    def __str__(self) -> str:
        """Return the text that `matched-eval compare` prints."""
        from matcheval.api.describing_models import described

        return described(self._compared, "to_pandas(...) has all")

    def to_pandas(self, table: str = "gaps") -> pd.DataFrame:
        """Return a table of the results; all accuracies and gaps are fractions.

        Parameters
        ----------
        table : str
            `gaps`: a row per criterion, means over the models; `models`: the same quantities, a row
            per criterion and model; `accuracies`: accuracies, confidences and matched accuracies
            with their spread over seeds, a row per criterion and model. Or one of `analyses`.

        Returns
        -------
        pandas.DataFrame
            A new table, with the columns of `matcheval.protocol.schemas.MEAN_GAPS`, of `GAPS`
            there, or of `matcheval.protocol.schemas.MODEL_TABLE`; of an analysis, those that its
            page describes.

        Raises
        ------
        InputError
            If there is no such table.
        """
        if table in self.analyses:
            return self._compared.analyses[table].table.copy()
        if table not in _TABLES:
            raise unknown_name_error("table", str(table), (*_TABLES, *self.analyses))
        if table == "gaps":
            return self._compared.gaps.means.copy()
        parts = self._compared.gaps.models if table == "models" else self._compared.tables
        return pd.concat(list(parts.values()), ignore_index=True)

    def plot(self, kind: str = "gaps", *, criterion: str | None = None) -> "Figure":
        """Draw a figure.

        Parameters
        ----------
        kind : str
            `gaps`: gaps, their parts and their narrowing; `matched_accuracy`: accuracy before and
            after matching; `confidence`: accuracy against mean confidence; `reliability`: accuracy
            against confidence in bins, of a single model. Or one of `analyses` that has a figure.
        criterion : str, optional
            One of `gaps`; by default the first. An analysis shows all.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot: a notebook shows it as the last value of a cell,
            `figure.savefig("gaps.pdf")` saves it.

        Raises
        ------
        InputError
            If there is no such figure or criterion; or `reliability` is asked of several models.
        """
        if kind in self.analyses:
            return self._compared.analyses[kind].figure()
        if kind not in KINDS:
            raise unknown_name_error("kind of figure", str(kind), (*KINDS, *self.analyses))
        if criterion is not None and criterion not in self.gaps:
            raise unknown_name_error("criterion", str(criterion), self.gaps)
        return self._compared.figure(kind, None if criterion is None else Criterion(criterion))

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write report, tables and figures, as `matched-eval compare --output` does.

        Parameters
        ----------
        folder : path-like
            Created if need be. Files of an earlier comparison in it are replaced.

        Returns
        -------
        list of Path
            All files; `report.html` is the one to open.

        Raises
        ------
        InputError
            If the folder holds other files, or cannot be written.
        """
        from matcheval.api.comparison_files import check_folder, write_comparison

        check_folder(Path(folder))
        return list(write_comparison(self._compared, Path(folder), self._asked))
