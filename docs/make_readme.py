"""Enter results of studies into the pages that show them: `make_readme.py` after `make docs`.

The tables are made from the CSV files in docs/digits, docs/cifar10-check and docs/severity, which
`make docs`, `make cifar10-docs` and `make severity-docs` copy from the results.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from make_published_page import BLOCKS as PUBLISHED
from make_published_page import KEPT as NETWORKS
from make_severity_page import BLOCKS as SEVERITY
from take_over import table, update_page

from matcheval.protocol.verdicts import Verdict, verdicts, with_accuracies
from matcheval.protocol.words import percent, share_of_confidence, with_interval

ROOT = Path(__file__).resolve().parents[1]
DIGITS, PHOTOGRAPHS = ROOT / "docs" / "digits", ROOT / "docs" / "cifar10-check"
CRITERIA = {
    "label_probability": "1: predicted label and probability",
    "probability": "2: probability",
}
SHOWN_CASES = (
    "no change", "no change, 10 pairs", "confidence alone",
    "at equal confidence alone, 3 points", "at equal confidence alone, 3 points, small sets",
    "at equal confidence, the margin, large sets", "30 % become confident errors",
    "both, 2 points are left", "confidence alone, two digits, large sets",
    "no change, 99 %, 20 models", "no change, 20 groups in one set", "no change, every image twice",
)  # fmt: skip
SIMULATED = ROOT / "benchmarks" / "results" / "verdicts.csv"
SHOWN_SETS = (  # with the number of labels
    ("calibrated 0.85", 100), ("calibrated 0.99", 100), ("overconfident", 100),
    ("half of the most confident fifth wrong", 100), ("half of the most confident fifth wrong", 50),
    ("inverted", 200),
)  # fmt: skip
SHOWN_METHODS = {
    "hypergeometric": "exact, random", "auto": "`auto`, random", "mixed": "`mixed`",
    "ppr_cs": "`ppr_cs`",
}  # fmt: skip
DRAWN = {"random": "`random`, exact", "control": "`random`, `auto`", "mixed": "`mixed`"}
COVERAGE = SIMULATED.with_name("few_labels.csv")
_IN_DOCS = ("results", "reading", "protocol", "few-labels")
PAGES = ("README.md", *(f"docs/{name}.md" for name in _IN_DOCS))


CELLS: dict[str, Callable[[pd.Series], str]] = {
    "gap": lambda row: with_interval(row, "gap"),
    "matched gap": lambda row: with_interval(row, "matched_gap"),
    "goes with confidence": lambda row: with_interval(row, "confidence_part"),
    "share with confidence": share_of_confidence,
    "narrower in samples": lambda row: percent(row["same_size_narrowing"]),
    "without warning": lambda row: percent(row["reference_narrowing"]),
    "unmatched targets": lambda row: percent(row["fraction_unmatched"]),
}


def means_of(folder: Path) -> str:
    """Return means over the models of a study, a row per criterion."""
    means = pd.read_csv(folder / "gaps.csv").set_index("matching")
    rows = [
        [title, *(cell(means.loc[name]) for cell in CELLS.values())]
        for name, title in CRITERIA.items()
    ]
    return table(["criterion", *CELLS], rows)


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


def plain_networks() -> str:
    """Return the numbers of two networks that were trained on clean images alone."""
    models = pd.read_csv(NETWORKS / "gaps_of_models.csv").set_index("model")
    accuracies = pd.read_csv(NETWORKS / "accuracies.csv").set_index("model")
    rows = []
    for name in ("wrn-28-10", "resnet-44"):
        both = accuracies.loc[name, ["accuracy_original", "accuracy_replication"]]
        parts = ("gap", "confidence_part", "matched_gap")
        cells = [with_interval(models.loc[name], part) for part in parts]
        rows.append([name, " to ".join(f"{100 * one:.1f}" for one in both), *cells])
    head = ["network", "accuracy (%)", "gap", "goes with confidence", "matched gap"]
    return table(head, rows)


def scores() -> str:
    """Return what matching on each score leaves of the gaps of both studies, by criterion 2."""
    tables = []
    for folder in (DIGITS, PHOTOGRAPHS):
        text = (folder / "score_comparison.md").read_text().splitlines()
        head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text)
        found = pd.DataFrame(rows, columns=head).set_index("Score, on ranks")
        found["Narrower by (without warning)"] = (
            found["Narrower by"] + " (" + found["Without warning"] + ")"
        )
        found["Models warned"] = found["Above 0"] + " of " + found["Models"]
        tables.append(found[(found["Matching"] == "criterion 2") & (found["Models"] != "0")])
    shown = ("Matched gap", "Narrower by (without warning)", "Models warned")
    rows = [
        [score, *(of[name].get(score, "") for of in tables for name in shown)]
        for score in tables[0].index
    ]
    names = [f"{name}, {of}" for of in ("digits", "photographs") for name in map(str.lower, shown)]
    return table(["score", *names], rows)


def simulated_verdicts() -> str:
    """Return how often verdicts of simulated reports are wrong, a row per case of `SHOWN_CASES`."""
    found = pd.read_csv(SIMULATED).set_index("case").loc[[*SHOWN_CASES]].reset_index()
    rows = [
        [
            row["case"], f"{row['n_original']:,} and {row['n_replication']:,}",
            *(f"{row[name]:.1f}" for name in ("wrong", "established", "open")),
        ]
        for _, row in found.iterrows()
    ]  # fmt: skip
    wrong = f"wrong reports (of {found['reports'].iloc[0]:,})"
    return table(["truth", "images", wrong, "accuracy established", "cannot be told"], rows, 2)


def coverage() -> str:
    """Return how often intervals of few labels hold the accuracy, a row per simulated set."""
    found = pd.read_csv(COVERAGE, dtype={"coverage": str})
    names = found["method"].where(found["design"] == "random", found["design"])
    cells = found.assign(name=names).set_index(["set", "n", "name"])["coverage"]
    rows = [
        [name, str(n), *(cells.get((name, n, method), "") for method in SHOWN_METHODS)]
        for name, n in SHOWN_SETS
    ]
    two = [f"{cells['two models', n, 'disagreement']} from {n}" for n in (50, 100, 200)]
    lines = f"The difference of two models, from labels where they differ: {', '.join(two)}."
    return f"{table(['set', 'labels', *SHOWN_METHODS.values()], rows)}\n{lines}\n"


def labels_of_digits() -> str:
    """Return how many labels the digits study would have needed, a row per design."""
    found = pd.read_csv(DIGITS / "few_labels.csv")
    rows = []
    for design, title in DRAWN.items():
        draws = found[found["design"] == design]
        models = draws.drop_duplicates("model")
        needed, coverage = models["labels_needed"], 100 * draws["coverage"]
        rows.append([
            title, f"{needed.median():.0f} ({needed.min()} to {needed.max()})",
            f"{models['planned'].median():.0f}",
            f"{100 * models['saving'].mean():.0f}" if design != "random" else "",
            f"{coverage.mean():.1f} ({coverage.min():.1f})",
        ])  # fmt: skip
    n = f"coverage, mean (lowest of {len(draws)})"
    wish = f"labels for ± {100 * draws['wish'].iloc[0]:g} points, median (range)"
    return table(["drawn, method", wish, "planned", "saved (%)", n], rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "digits": lambda: means_of(DIGITS),
    "digits/verdict": lambda: in_words(DIGITS),
    "cifar10.1/verdict": lambda: in_words(NETWORKS),
    "cifar10.1/plain": plain_networks,
    "cifar10-check/verdict": lambda: in_words(PHOTOGRAPHS),
    "scores": scores,
    "verdicts": simulated_verdicts,
    "few-labels": coverage,
    "few-labels/digits": labels_of_digits,
    "cifar10-check/means": lambda: means_of(PHOTOGRAPHS),
    **PUBLISHED,
    **SEVERITY,
}


if __name__ == "__main__":
    for name in PAGES:
        update_page(ROOT / name, lambda block: BLOCKS[block]())
