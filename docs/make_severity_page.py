"""Keep results of `severity`, which docs/results.md shows: `make_severity_page.py STUDY SUITE`.

Of the study named, whose results lie in `results/`, the means over models and the figure are taken
into docs/severity/. `make_readme.py` writes the page's tables from there.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from take_over import markdown_table

from matcheval.analyses.severity import SCHEMA
from matcheval.protocol.compared_models import MEAN

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
KEPT = ROOT / "docs" / "severity"
SHOWN = (1, 3, 5)  # severities
DECIMALS = 6
RESAMPLES, SEED = 10_000, 0
MATCHING = "label_probability"


def copy_results(study: str, suite: str) -> None:
    """Copy a study's means over models and its figure from results to docs/severity/.

    Parameters
    ----------
    study, suite : str
        Their names.
    """
    results = ROOT / "results" / study
    found = SCHEMA.read(results / "severity" / f"{suite}.parquet").to_pandas()
    means = found[(found["model"] == MEAN) & found["severity"].notna()]
    means.round(DECIMALS).to_csv(KEPT / f"{study}.csv", index=False)
    shutil.copyfile(
        results / "figures" / "severity" / f"{suite}.png", KEPT / f"{study}-severity.png"
    )


def read_results(study: str) -> pd.DataFrame:
    """Read the parts of the gap of each set in percentage points, with the first matched gap.

    Parameters
    ----------
    study : str
        Its name.
    """
    found = pd.read_csv(KEPT / f"{study}.csv")
    key = ["severity", "subgroup"]
    found["subgroup"] = found["subgroup"].astype(object).fillna("")
    first = found[found["matching"] == MATCHING].set_index(key)
    points = first[["gap", "confidence_part", "conditional_part"]].assign(
        first=first["matched_gap"], first_unmatched=first["fraction_unmatched"]
    )
    clear = ~first["matched_gap_low"].le(0) | ~first["matched_gap_high"].ge(0)
    return (100 * points).assign(first_clear=clear)


def severity_table(study: str) -> str:
    """Return a table of means over the kinds of corruption, a row per severity of `SHOWN`.

    Parameters
    ----------
    study : str
        Its name.
    """
    found = read_results(study)
    names = ["gap", "confidence_part", "share", "first"]
    head = "severity, gap, explained by confidence, share (%), matched gap, unmatched (%)"
    lines = []
    for severity, rows in found.loc[[*SHOWN]].groupby("severity"):
        values, low, high = average_over_kinds(rows.assign(share=np.nan))
        cells = [f"{severity:g}"]
        for name in names:
            digits = 0 if name == "share" else 1
            bounds = f" [{low[name]:.{digits}f}, {high[name]:.{digits}f}]" if len(rows) > 1 else ""
            is_known = np.isfinite(values[name])
            cells.append(f"{values[name] + 0.0:.{digits}f}{bounds}" if is_known else "–")
        lines.append([*cells, f"{values['first_unmatched']:.0f}"])
    return markdown_table(head.split(", "), lines, n_texts=0)


def average_over_kinds(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Average over kinds of corruption; return means and bounds of 95 % bootstrap intervals.

    Parameters
    ----------
    rows : pandas.DataFrame
        A row per kind; `share` is replaced by the ratio of sums, in percent.
    """
    values = rows.to_numpy(np.float64)
    drawn = np.random.default_rng(SEED).integers(len(rows), size=(RESAMPLES, len(rows)))
    means = np.concatenate([values.mean(axis=0)[None], values[drawn].mean(axis=1)])
    found = pd.DataFrame(means, columns=rows.columns)
    gap = found["gap"].where(found["gap"] != 0)
    found["share"] = 100 * found["confidence_part"] / gap
    bounds = found[1:].quantile([0.025, 0.975])
    return found.iloc[0], bounds.iloc[0], bounds.iloc[1]


BLOCKS: dict[str, Callable[[], str]] = {
    "cifar10-shifts/severity": lambda: severity_table("cifar10-shifts"),
}


if __name__ == "__main__":
    copy_results(*sys.argv[1:])
