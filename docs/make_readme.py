"""Enter the results of the digits study into the README: `make_readme.py` after `make docs`."""

from pathlib import Path

import pandas as pd
from take_over import take_over

from matcheval.protocol.words import percent, share_of_confidence, verdict, with_interval

ROOT = Path(__file__).resolve().parents[1]
CRITERIA = {
    "label_probability": "1: predicted label and probability",
    "probability": "2: probability",
}


def table(means: pd.DataFrame) -> str:
    """Lay out the means over models as a table in Markdown.

    Parameters
    ----------
    means : pandas.DataFrame
        Columns of `gap_schemas.MEAN_GAPS`, a row per criterion.
    """
    rows = {row["matching"]: row for _, row in means.iterrows()}
    cells = {
        "gap": lambda row: with_interval(row, "gap"),
        "matched gap": lambda row: with_interval(row, "matched_gap"),
        "verdict": verdict,
        "goes with confidence": lambda row: with_interval(row, "confidence_part"),
        "share of the gap": share_of_confidence,
        "narrower by": lambda row: percent(row["narrowing"]),
        "in samples": lambda row: percent(row["same_size_narrowing"]),
        "the same without warning": lambda row: percent(row["reference_narrowing"]),
        "unmatched targets": lambda row: percent(row["fraction_unmatched"]),
    }
    lines = [
        f"| criterion | {' | '.join(cells)} |",
        f"| --- |{' --: |' * len(cells)}",
        *(
            f"| {title} | {' | '.join(cell(rows[name]) for cell in cells.values())} |"
            for name, title in CRITERIA.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def digits(_: str) -> str:
    """Return the table of docs/digits/gaps.csv."""
    return table(pd.read_csv(ROOT / "docs" / "digits" / "gaps.csv"))


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(take_over(page.read_text(encoding="utf-8"), digits), encoding="utf-8")
