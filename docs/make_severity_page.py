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
from take_over import table

from matcheval.analyses.severity import SCHEMA
from matcheval.protocol.compared_models import MEAN

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
KEPT = ROOT / "docs" / "severity"
DECIMALS = 6
RESAMPLES, SEED = 10_000, 0
FIRST, SECOND = "label_probability", "probability"


def take(study: str, suite: str) -> None:
    """Copy a study's means over models, and its figure.

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


def read(study: str) -> pd.DataFrame:
    """Return a row per set, in percentage points: parts of the gap, and both matched gaps.

    Parameters
    ----------
    study : str
        Its name.
    """
    found = pd.read_csv(KEPT / f"{study}.csv")
    key = ["severity", "subgroup"]
    found["subgroup"] = found["subgroup"].astype(object).fillna("")
    by_matching = {name: rows.set_index(key) for name, rows in found.groupby("matching")}
    first, second = by_matching[FIRST], by_matching[SECOND]
    points = first[["gap", "confidence_part", "conditional_part"]].assign(
        first=first["matched_gap"], second=second["matched_gap"],
        first_unmatched=first["fraction_unmatched"], second_unmatched=second["fraction_unmatched"],
    )  # fmt: skip
    clear = {
        name: ~rows["matched_gap_low"].le(0) | ~rows["matched_gap_high"].ge(0)
        for name, rows in (("first_clear", first), ("second_clear", second))
    }
    return (100 * points).assign(**clear)


def by_severity(study: str) -> str:
    """Lay out means over the kinds of corruption, a row per severity.

    Parameters
    ----------
    study : str
        Its name.
    """
    found = read(study)
    names = ["gap", "confidence_part", "conditional_part", "share", "first", "second"]
    head = [
        "severity", "sets", "gap", "goes with confidence", "at equal confidence",
        "share with confidence (%)", "matched gap, criterion 1", "criterion 2",
        "unmatched, criterion 1 (%)", "criterion 2 (%)",
    ]  # fmt: skip
    lines = []
    for severity, rows in found.groupby("severity"):
        values, low, high = over_kinds(rows.assign(share=np.nan))
        cells = [f"{severity:g}", f"{len(rows)}"]
        for name in names:
            digits = 0 if name == "share" else 1
            bounds = f" [{low[name]:.{digits}f}, {high[name]:.{digits}f}]" if len(rows) > 1 else ""
            is_known = np.isfinite(values[name])
            cells.append(f"{values[name] + 0.0:.{digits}f}{bounds}" if is_known else "–")
        cells += [f"{values[name]:.0f}" for name in ("first_unmatched", "second_unmatched")]
        lines.append(cells)
    return table(head, lines, n_texts=0)


def over_kinds(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Average over the kinds of corruption, with percentiles 2.5 and 97.5 over resampled kinds.

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


def by_kind(study: str) -> str:
    """Lay out means over severities, a row per kind of corruption, by the share with confidence.

    Parameters
    ----------
    study : str
        Its name.
    """
    found = read(study).drop(index=0.0, level="severity")
    groups = found.groupby("subgroup")
    means = groups.mean()
    means["share"] = 100 * means["confidence_part"] / means["gap"]
    means = means.sort_values("share", ascending=False)
    head = [
        "corruption", "gap", "goes with confidence", "at equal confidence",
        "share with confidence (%)", "matched gap, criterion 1", "criterion 2",
        "matched gap beyond sampling error, criterion 1",
    ]  # fmt: skip
    digits = {
        "gap": 1, "confidence_part": 1, "conditional_part": 1, "share": 0, "first": 1, "second": 1,
    }  # fmt: skip
    lines = [
        [
            str(kind).replace("_", " "), *(f"{row[name]:.{n}f}" for name, n in digits.items()),
            f"{groups['first_clear'].sum()[kind]} of {groups.size()[kind]}",
        ]
        for kind, row in means.iterrows()
    ]  # fmt: skip
    return table(head, lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "cifar10-shifts/severity": lambda: by_severity("cifar10-shifts"),
    "cifar10-shifts/kind": lambda: by_kind("cifar10-shifts"),
}


if __name__ == "__main__":
    take(*sys.argv[1:])
