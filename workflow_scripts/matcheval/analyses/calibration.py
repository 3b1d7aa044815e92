"""How well confidences fit accuracies on all datapoints of a pair, and on matched ones.

Where matched confidences are equal, the matched gap is a difference of overconfidences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.few_labels.draws import make_strata
from matcheval.figures import style
from matcheval.figures.forms import FEW_MODELS, Series, drawing, intervals, join, name_rows, panels
from matcheval.io.tables import Column, TableSchema, fraction, text
from matcheval.io.text_tables import counted
from matcheval.predictions.layout import class_name
from matcheval.predictions.records import Predictions
from matcheval.protocol import compared_models
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.protocol.compared_models import MIN_PAIRS, ComparedModels, mean_of_defined
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.settings import matching_label

N_BINS = 15
RowsOfSets = dict[str, list[npt.NDArray[Any]]]  # by origin: row numbers of a set, for each seed


def all_and_matched_rows(
    compared: ComparedModels,
) -> Iterator[tuple[Comparison, dict[str, Any], RowsOfSets]]:
    """Yield, by model, the row numbers of all datapoints, then those that each matching matched.

    The dictionary has the columns `MATCHED_MODEL`; for all datapoints, `matching` is empty.
    """
    for comparison in compared.comparisons:
        whole: dict[str, Any] = {
            "model": comparison.model, "pair": comparison.pair.name, "matching": "",
            "criterion": "", "epsilon": float("nan"),
        }  # fmt: skip
        sizes = {origin: len(getattr(comparison, origin)) for origin in style.SETS}
        yield comparison, whole, {origin: [np.arange(n)] for origin, n in sizes.items()}
        for matched in compared_models.match_by_all(comparison, compared.methods, compared.seeds):
            targets = [np.flatnonzero(row != UNMATCHED) for row in matched.rows.values()]
            sources = [r[hit] for r, hit in zip(matched.rows.values(), targets, strict=True)]
            picked = dict(zip(style.SETS, (sources, targets)[:: compared.sign], strict=True))
            yield comparison, {name: matched.identity[name] for name in whole}, picked


def _unitless(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "1", meaning)


_UNBIASED = "calibration minus its bias in bins of this size; 0 on average if perfectly calibrated"

SCHEMA = TableSchema(
    "calibration of all and of matched datapoints",
    *compared_models.MATCHED_MODEL,
    text("origin", "original or replication: all datapoints where matching is empty"),
    Column("n", pa.float64(), "datapoints", "mean over seeds, as all that follows"),
    fraction("accuracy", "share of correct predictions; NaN without a datapoint"),
    fraction("mean_confidence", "mean of the confidences; NaN without a datapoint"),
    fraction("overconfidence", "mean confidence minus accuracy"),
    fraction("calibration_error", "root of squared_calibration_error, 0 if that is negative"),
    _unitless("squared_calibration_error", _UNBIASED),
    _unitless("brier", "mean square of confidence minus correctness, 0 or 1"),
    _unitless("calibration", "mean square of confidence minus accuracy of 15 bins, equally large"),
    _unitless("refinement", "mean of accuracy times error rate within bins"),
    Column("n_classes", pa.int32(), "classes", "predicted for 30 datapoints or more"),
    fraction("class_overconfidence", "mean of overconfidence over these classes"),
    Column("largest_class", pa.int32(), "1", "of them, the worst calibrated; -1 for none"),
    text("largest_class_name", "its name, or its number in the files; empty for none"),
    fraction("largest_class_overconfidence", "of that class, signed"),
    text("reason", "why values are NaN; empty if none is"),
    shown={
        "Model": "{model}", "Matching": "{matching}", "Set": "{origin}", "Datapoints": "{n:,.1f}",
        "Accuracy": "{accuracy:.1%}", "Mean confidence": "{mean_confidence:.1%}",
        "Overconfidence": "{overconfidence:+.1%}", "Calibration error": "{calibration_error:.1%}",
        "Brier": "{brier:.3f}", "Calibration in bins": "{calibration:.4f}",
        "Refinement in bins": "{refinement:.3f}", "Class": "{largest_class_name}",
        "Its overconfidence": "{largest_class_overconfidence:+.1%}",
    },
)  # fmt: skip


@dataclass(frozen=True)
class BrierParts:
    """Calibration and refinement, which add up to the Brier score of binned confidences."""

    calibration: float
    refinement: float
    debiased: float  # estimates the calibration in bins of infinitely many datapoints


def brier_parts(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> BrierParts:
    """Split the Brier score into calibration and refinement, in 15 bins of equally many datapoints.

    Equal confidences share a bin. Murphy (1973), J. Appl. Meteorol. 12: reliability, and
    uncertainty minus resolution. Kumar, Liang & Ma (2019), arXiv 1909.10155, `unbiased_square_ce`
    of their code, and Ferro & Fricker (2012), Q. J. R. Meteorol. Soc. 138: the calibration of a bin
    of n minus its accuracy times its error rate over n - 1, as if its confidences were equal; a bin
    of one datapoint counts as 0.
    """
    p, right = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    bins = make_strata(p, N_BINS)
    n = np.bincount(bins)
    accuracy = np.bincount(bins, right) / n
    squares = (np.bincount(bins, p) / n - accuracy) ** 2
    spread, share, is_pair = accuracy * (1 - accuracy), n / len(p), n > 1
    unbiased = squares - np.divide(spread, n - 1, out=squares.copy(), where=is_pair)
    return BrierParts(*(float(share @ values) for values in (squares, spread, unbiased)))


def tabulate(compared: ComparedModels) -> pd.DataFrame:
    """Tabulate every model's calibration on all and on matched datapoints of each set."""
    rows = [
        identity | {"origin": origin} | _measure_calibration(getattr(comparison, origin), of_seeds)
        for comparison, identity, picked in all_and_matched_rows(compared)
        for origin, of_seeds in picked.items()
    ]
    for row in rows:
        label = int(row["largest_class"])
        row["largest_class_name"] = "" if label < 0 else class_name(compared.layout, label)
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _measure_calibration(
    side: Predictions, rows_by_seed: Sequence[npt.NDArray[Any]]
) -> dict[str, Any]:
    """Measure calibration on the rows of each seed, as means over seeds; classes pool the seeds."""
    parts = [
        (side.probability[rows].astype(np.float64), side.correct[rows], side.prediction[rows])
        for rows in rows_by_seed
    ]
    filled = [(p, right) for p, right, _ in parts if len(p)]
    accuracy = mean_of_defined([right.mean() for _, right in filled])
    confidence = mean_of_defined([p.mean() for p, _ in filled])
    row: dict[str, Any] = {
        "n": np.mean([len(p) for p, *_ in parts]), "accuracy": accuracy,
        "mean_confidence": confidence, "overconfidence": confidence - accuracy, "n_classes": 0,
        "largest_class": -1, "reason": f"fewer than {MIN_PAIRS} datapoints",
    }  # fmt: skip
    if row["n"] < MIN_PAIRS:
        return row
    p, right, predicted = map(np.concatenate, zip(*parts, strict=True))
    counts = np.bincount(predicted)
    classes = np.flatnonzero(counts >= MIN_PAIRS * len(parts))
    by_class = np.bincount(predicted, p - right)[classes] / counts[classes]
    by_seed = [brier_parts(p, right) for p, right in filled]
    debiased = float(np.mean([brier.debiased for brier in by_seed]))
    row |= {
        "calibration_error": max(debiased, 0.0) ** 0.5, "squared_calibration_error": debiased,
        "brier": np.mean([((p - right) ** 2).mean() for p, right in filled]),
        "calibration": np.mean([brier.calibration for brier in by_seed]),
        "refinement": np.mean([brier.refinement for brier in by_seed]),
        "n_classes": len(classes), "reason": f"no class is predicted {MIN_PAIRS} times",
    }  # fmt: skip
    if len(classes):
        worst = np.abs(by_class).argmax()
        row |= {
            "class_overconfidence": by_class.mean(), "largest_class": classes[worst],
            "largest_class_overconfidence": by_class[worst], "reason": "",
        }  # fmt: skip
    return row


_ROW, _HEIGHT, _AROUND = 0.16, 4.5, 1.1  # inches: of a named model, of many, around them


def figure_height(n_models: int) -> float:
    """Return the height, in inches, of a figure with a row for each model."""
    return (_ROW * max(n_models, 3) if n_models <= FEW_MODELS else _HEIGHT) + _AROUND


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot each model's overconfidence on both sets, on all and on matched datapoints."""
    values = table.pivot_table(
        "overconfidence", "model", ["matching", "origin"], dropna=False, sort=False
    )
    values = values.sort_values(("", "original"), kind="stable")
    values.columns = ["/".join(names) for names in values.columns]
    matchings = [name for name in table["matching"].unique() if name]
    size = style.COLUMN_WIDTH * (0.4 + 0.8 * len(matchings)), figure_height(len(values))
    title = f"{table['pair'].iloc[0]}: overconfidence, {counted(len(values), 'model')}"
    with drawing(*size, title, legend_columns=3) as figure:
        axes = panels(figure, len(matchings), len(matchings))
        for panel, matching in zip(axes, matchings, strict=True):
            ends = [f"{matching}/{origin}" for origin in style.SETS]
            look = {"color": style.MATCHED_GAP.color, "linewidth": 0.8, "label": "matched gap"}
            join(panel, values, ends, **look)
            series = [
                Series(f"{name}/{origin}", look, f"{origin}, {'matched' if name else 'all'}")
                for origin, looks in style.SETS.items()
                for name, look in zip(("", matching), looks, strict=True)
            ]
            intervals(panel, values, series, spread=0)
            style.draw_zero(panel, upright=True)
            panel.set_title(matching_label(matching))
            panel.set_xlabel("Confidence − accuracy (points)")
        label = "Model, by increasing overconfidence on the original"
        name_rows(axes[0], values.index.tolist(), label)
    return figure


class Calibration(PairTableAnalysis):
    """Compare every model's calibration on both sets, on all and on matched datapoints."""

    name: ClassVar[str] = "calibration"
    caption: ClassVar[str] = (
        "Calibration of every model on **{{ snakemake.wildcards.pair }}**, on all datapoints of "
        "both sets and on those matched, mean over seeds. Overconfidence is mean confidence minus "
        "accuracy. Matched datapoints have nearly equal confidences, so the matched gap is the "
        "overconfidence on the matched replication minus that on the matched original: the line "
        "in the figure."
    )
    has_figure: ClassVar[bool] = True
