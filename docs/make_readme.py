"""Enter results of studies into the pages that show them: `make_readme.py` after `make docs`.

The tables are made from the CSV files in docs/digits, docs/cifar10-check and docs/severity, which
`make docs`, `make cifar10-docs` and `make severity-docs` copy from the results.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from make_severity_page import BLOCKS as SEVERITY
from take_over import table, update_page

from matcheval.io.text_tables import accuracy_cells
from matcheval.protocol.verdicts import Verdict, verdicts, with_accuracies
from matcheval.protocol.words import percent, share_of_confidence, with_interval

ROOT = Path(__file__).resolve().parents[1]
DIGITS, PHOTOGRAPHS = ROOT / "docs" / "digits", ROOT / "docs" / "cifar10-check"
CRITERIA = {
    "label_probability": "1: predicted label and probability",
    "probability": "2: probability",
}
SIMULATED = ROOT / "benchmarks" / "results" / "verdicts.csv"
_IN_DOCS = ("results", "reading", "protocol")
PAGES = ("README.md", *(f"docs/{name}.md" for name in _IN_DOCS))


CELLS: dict[str, Callable[[pd.Series], str]] = {
    "gap": lambda row: with_interval(row, "gap"),
    "matched gap": lambda row: with_interval(row, "matched_gap"),
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


def verdict_of(folder: Path) -> Verdict:
    """Judge the pair of a study."""
    means, models = pd.read_csv(folder / "gaps.csv"), pd.read_csv(folder / "gaps_of_models.csv")
    accuracies = pd.read_csv(folder / "accuracies.csv")
    first = means.assign(remarks=means["remarks"].astype(object).fillna("")).iloc[0]
    gaps = {(first["pair"], first["matching"]): with_accuracies(models, accuracies)}
    return verdicts([first], gaps)[0]


def in_words(folder: Path) -> str:
    """Return what a study shows, a claim per row."""
    judged = verdict_of(folder)
    rows = [[str(claim.strength), claim.text] for claim in judged.claims]
    return table(["strength", "claim"], [*rows, ["next", judged.next_step]], n_texts=2)


def photographs_by_model() -> str:
    """Return accuracies and gaps of the CIFAR-10 check, a row per model."""
    accuracies = pd.read_csv(PHOTOGRAPHS / "accuracies.csv").set_index("model")
    by_label, by_probability = (
        pd.read_csv(PHOTOGRAPHS / name).set_index("model")
        for name in ("gaps_of_models.csv", "probability.csv")
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


def simulated_verdicts() -> str:
    """Return how often verdicts of simulated reports are wrong, a row per case."""
    found = pd.read_csv(SIMULATED)
    rows = [
        [
            row["case"], f"{row['n_original']:,} and {row['n_replication']:,}",
            *(f"{row[name]:.1f}" for name in ("wrong", "established", "open")),
        ]
        for _, row in found.iterrows()
    ]  # fmt: skip
    wrong = f"wrong reports (of {found['reports'].iloc[0]:,})"
    return table(["truth", "images", wrong, "accuracy established", "cannot be told"], rows, 2)


BLOCKS: dict[str, Callable[[], str]] = {
    "digits": digits,
    "digits/verdict": lambda: in_words(DIGITS),
    "cifar10-check/verdict": lambda: in_words(PHOTOGRAPHS),
    "verdicts": simulated_verdicts,
    "cifar10-check/models": photographs_by_model,
    "cifar10-check/means": photographs,
    "cifar10-check/paired": paired_gaps,
    **SEVERITY,
}


if __name__ == "__main__":
    for name in PAGES:
        update_page(ROOT / name, lambda block: BLOCKS[block]())
