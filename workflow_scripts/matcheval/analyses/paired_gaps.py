"""Plain gaps of every model on two sets of the same images, with paired tests."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError, configuration_error
from matcheval.io.tables import MODEL, Column, TableSchema, fraction, interval, text
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.protocol.compared_models import MEAN, ComparedModels
from matcheval.protocol.comparisons import Blocks, paired_images
from matcheval.protocol.decomposition import Floats
from matcheval.protocol.standard_errors import ErrorTerms, error_interval, standard_error
from matcheval.statistics.intervals import mcnemar


def _blank_counts_of_mean(table: pd.DataFrame) -> pd.DataFrame:
    """Replace the counts of -1, in the row of the mean over models, by NaN."""
    counts = table[["only_original", "only_replication"]]
    return table.assign(**counts.where(counts >= 0))


SCHEMA = TableSchema(
    "gaps of paired sets",
    MODEL,
    text("pair", "name of the pair of sets"),
    Column("n", pa.int32(), "images", "size of either set"),
    fraction("accuracy_original", "accuracy on the original"),
    fraction("accuracy_replication", "accuracy on the replication"),
    fraction("gap", "accuracy on the original minus on the replication"),
    fraction("gap_se", "its standard error over images; over groups where there are groups"),
    *interval("gap"),
    fraction("unpaired_se", "standard error if the sets were of different images"),
    Column("only_original", pa.int32(), "images", "right on the original only; -1 for a mean"),
    Column("only_replication", pa.int32(), "images", "right on the replication only"),
    fraction("p", "McNemar's exact p-value, which takes images as independent; of a model"),
    text("reason", "why the gap has no standard error; empty if it has"),
    summary=_blank_counts_of_mean,
    shown={
        "Model": "{model}", "Original (%)": "{accuracy_original:.1%}",
        "Replication (%)": "{accuracy_replication:.1%}", "Gap": "{gap:+.2%}", "SE": "{gap_se:.2%}",
        "SE if unpaired": "{unpaired_se:.2%}", "Right on original only": "{only_original:,.0f}",
        "On replication only": "{only_replication:,.0f}", "p (McNemar)": "{p:.2g}",
    },
)  # fmt: skip


def tabulate(compared: ComparedModels) -> pd.DataFrame:
    """Tabulate every model's gap between two sets of the same images, with paired tests."""
    if not compared.pair.paired:
        problem = f"pair '{compared.pair.name}' is not declared as paired"
        remedy = "If both sets show the same images, row by row, say that they are paired"
        raise InputError(problem, remedy=remedy)
    first = compared.comparisons[0]
    paired_images(first.source, first.target)
    row = partial(paired_row, blocks=compared.blocks, level=compared.pair.confidence)
    rows, rights = [], []
    for comparison in compared.comparisons:
        original, replication = comparison.original.correct, comparison.replication.correct
        rights.append((original, replication))
        only = int((original & ~replication).sum()), int((replication & ~original).sum())
        rows.append({
            "model": comparison.model, **row(original, replication), "only_original": only[0],
            "only_replication": only[1], "p": float(mcnemar(*only)),
        })  # fmt: skip
    without_counts = {"only_original": -1, "only_replication": -1, "p": float("nan")}
    means = np.mean(rights, axis=0)
    table = pd.DataFrame([*rows, {"model": MEAN, **row(*means), **without_counts}])
    return table.assign(pair=compared.pair.name)[SCHEMA.names]


def paired_row(
    original: npt.NDArray[Any], replication: npt.NDArray[Any], blocks: Blocks | None, level: float
) -> dict[str, Any]:
    """Return the accuracies on both sets and the gap, with paired and unpaired standard errors.

    The arrays are correctness by image, 0 or 1, or means of it over models.
    """
    difference = original.astype(np.float64) - replication
    n, gap = len(difference), float(difference.mean())
    reason = _reason_for_no_error(difference, blocks)
    error = float("nan") if reason else _paired_error(difference, blocks)
    low, high = error_interval(gap, error, blocks, level)
    variance = sum(side.astype(np.float64).var() / n for side in (original, replication))
    return {
        "n": n, "accuracy_original": float(original.mean()),
        "accuracy_replication": float(replication.mean()),
        "gap": gap, "gap_se": error, "gap_low": low, "gap_high": high,
        "unpaired_se": float(np.sqrt(variance)), "reason": reason,
    }  # fmt: skip


def _reason_for_no_error(difference: Floats, blocks: Blocks | None) -> str:
    """Say why there is no standard error; empty if there is one."""
    if len(difference) < 2:
        return "no standard error: fewer than two images"
    if np.ptp(difference) == 0:
        return "no standard error: all images differ by the same between the sets"
    if blocks is not None and blocks.grouped and blocks.n < 2:
        return "no standard error: all images are a single group"
    return ""


def _paired_error(difference: Floats, blocks: Blocks | None) -> float:
    """Return the standard error of a mean difference, over images or, where given, groups."""
    n = len(difference)
    if blocks is None or not blocks.grouped:
        return float(difference.std(ddof=1) / np.sqrt(n))
    terms = (difference - difference.mean()) / n
    return standard_error(ErrorTerms(terms, np.zeros(n)), blocks)


class PairedGaps(PairTableAnalysis):
    """Test the accuracies on two sets of the same images, image by image."""

    name: ClassVar[str] = "paired_gaps"
    caption: ClassVar[str] = (
        "Gaps between the two sets of **{{ snakemake.wildcards.pair }}**, which show the same "
        "images, with standard errors over images and McNemar's test. The standard error for "
        "different images is given beside it."
    )

    @property
    def runs_per_seed(self) -> int:
        """0, because nothing is matched."""
        return 0

    def check(self) -> None:
        """Check that all pairs are declared as paired."""
        super().check()
        for pair in self.settings.pairs:
            if not self.study.pairs[pair].paired:
                problem = f"pair '{pair}' is not declared as paired"
                remedy = "If both sets show the same images, row by row, set paired: true"
                raise configuration_error(problem, field=self.field("pairs"), remedy=remedy)
