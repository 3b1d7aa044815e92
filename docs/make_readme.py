"""Enter results of studies into the pages that show them: `make_readme.py` after `make docs`.

The tables are made from the CSV files in docs/digits and docs/cifar10-check, which `make docs` and
`make cifar10-docs` copy from the results.
"""

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

import pandas as pd
from take_over import table, update_page

from matcheval.io.text_tables import accuracy_cells
from matcheval.protocol.words import percent, share_of_confidence, verdict, with_interval

ROOT = Path(__file__).resolve().parents[1]
DIGITS, PHOTOGRAPHS = ROOT / "docs" / "digits", ROOT / "docs" / "cifar10-check"
SPREAD = ROOT / "benchmarks" / "results" / "reference_spread.csv"
CRITERIA = {
    "label_probability": "1: predicted label and probability",
    "probability": "2: probability",
}
PAGES = ("README.md", "docs/demo.md", "docs/cifar10-check.md")


CELLS: dict[str, Callable[[pd.Series], str]] = {
    "gap": lambda row: with_interval(row, "gap"),
    "matched gap": lambda row: with_interval(row, "matched_gap"),
    "verdict": verdict,
    "goes with confidence": lambda row: with_interval(row, "confidence_part"),
    "at equal confidence": lambda row: with_interval(row, "conditional_part"),
    "share with confidence": share_of_confidence,
    "narrower by": lambda row: percent(row["narrowing"]),
    "in samples": lambda row: percent(row["same_size_narrowing"]),
    "the same without warning": lambda row: percent(row["reference_narrowing"]),
    "unmatched targets": lambda row: percent(row["fraction_unmatched"]),
}


def digits() -> str:
    """Return means over the 20 models of the digits study, a row per criterion."""
    means = pd.read_csv(DIGITS / "gaps.csv").set_index("matching")
    cells = {name: cell for name, cell in CELLS.items() if name != "at equal confidence"}
    rows = [
        [title, *(cell(means.loc[name]) for cell in cells.values())]
        for name, title in CRITERIA.items()
    ]
    return table(["criterion", *cells], rows)


def digits_in_words() -> str:
    """Return what follows from the digits study under criterion 1, in a few sentences."""
    row = pd.read_csv(DIGITS / "gaps.csv").set_index("matching").loc["label_probability"]
    low, high = row["confidence_part_low"], row["confidence_part_high"]
    holds_zero = ", an interval that holds 0" if low <= 0 <= high else ""
    simulated = pd.read_csv(SPREAD).iloc[0]  # sets of the digits' sizes, criterion 1
    text = (
        "Twenty small networks on scans of digits by known and by new writers: the mean gap is "
        f"{with_interval(row, 'gap')} percentage points, the matched gap (criterion 1) "
        f"{with_interval(row, 'matched_gap')}, {verdict(row)}. In samples of "
        f"{row['n_reference_original']} and {row['n_reference_replication']} scans, matching "
        f"narrows the gap by {percent(row['same_size_narrowing'])}; it would narrow a gap of which "
        f"confidence gives no warning by {percent(row['reference_narrowing'])} (between simulated "
        "pairs of such sets, the difference of the two has a standard deviation of "
        f"{simulated['excess_sd']:.0f} points for one model). So a narrower gap alone does not "
        "show that confidence explains the loss. The part of the gap that goes with confidence is "
        f"{with_interval(row, 'confidence_part')} points{holds_zero}. Brackets are 95 % intervals "
        "for the sampling of the scans, by writer."
    )
    return "\n".join(wrap(text, 120, break_long_words=False)) + "\n"


def photographs_in_words() -> str:
    """Return what the CIFAR-10 check shows under criterion 1, in a sentence."""
    row = pd.read_csv(PHOTOGRAPHS / "gaps.csv").set_index("matching").loc["label_probability"]
    text = (
        "[The same on photographs](docs/cifar10-check.md): four published networks on CIFAR-10's "
        "test images and on JPEG copies of them. The mean gap is "
        f"{with_interval(row, 'gap')} points, of which a share of {share_of_confidence(row)} goes "
        f"with confidence; the matched gap is {with_interval(row, 'matched_gap')}, {verdict(row)}."
    )
    return "\n".join(wrap(text, 120, break_long_words=False)) + "\n"


def photographs_by_model() -> str:
    """Return accuracies and gaps of the CIFAR-10 check, a row per model."""
    accuracies = pd.read_csv(PHOTOGRAPHS / "top1.csv").set_index("model")
    by_label, by_probability = (
        pd.read_csv(PHOTOGRAPHS / f"{name}.csv").set_index("model") for name in CRITERIA
    )
    cells = {part: accuracy_cells(accuracies, part, 2) for part in ("original", "replication")}
    texts = pd.DataFrame(cells, index=accuracies.index)
    rows = [
        [
            model, published, *texts.loc[model], with_interval(by_label.loc[model], "gap"),
            with_interval(by_label.loc[model], "matched_gap"),
            with_interval(by_probability.loc[model], "matched_gap"),
            share_of_confidence(by_label.loc[model]),
        ]
        for model, published in published_accuracies().items()
    ]  # fmt: skip
    head = ["model", "published", "CIFAR-10", "as JPEG", "gap", "matched gap, criterion 1"]
    return table([*head, "criterion 2", "share with confidence"], rows)


def published_accuracies() -> dict[str, str]:
    """Return the published accuracies in percent, which the catalogue's notes name, by model."""
    models = pd.read_csv(ROOT / "studies" / "cifar10-check-models.csv").set_index("name")
    found = models["note"].str.extract(r"published accuracy ([0-9.]+) %")[0]
    return dict(found.dropna())


def photographs() -> str:
    """Return means over the models of the CIFAR-10 check, a column per criterion."""
    means = pd.read_csv(PHOTOGRAPHS / "gaps.csv").set_index("matching")
    first = means.iloc[0]
    sizes = f"{first['n_reference_original']:,} and {first['n_reference_replication']:,}"
    rows = [
        [
            f"{title} of {sizes}" if title == "in samples" else title,
            *(cell(means.loc[name]) for name in CRITERIA),
        ]
        for title, cell in CELLS.items()
    ]
    return table(["mean over the four models", "criterion 1", "criterion 2"], rows)


def paired_gaps() -> str:
    """Return the tests of the CIFAR-10 check's gaps, image by image."""
    tests = pd.read_csv(PHOTOGRAPHS / "paired_gaps.csv")
    rows = [
        [
            row["model"], with_interval(row, "gap"), f"{100 * row['gap_se']:.2f}",
            f"{row['gap'] / row['gap_se']:.1f}", f"{100 * row['unpaired_se']:.2f}",
            f"{row['gap'] / row['unpaired_se']:.1f}",
        ]
        for _, row in tests.iterrows()
    ]  # fmt: skip
    return table(["model", "gap", "SE", "z", "SE if unpaired", "z if unpaired"], rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "digits": digits,
    "digits/sentences": digits_in_words,
    "cifar10-check/sentence": photographs_in_words,
    "cifar10-check/models": photographs_by_model,
    "cifar10-check/means": photographs,
    "cifar10-check/paired": paired_gaps,
}


if __name__ == "__main__":
    for name in PAGES:
        update_page(ROOT / name, lambda block: BLOCKS[block]())
