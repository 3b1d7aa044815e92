"""Enter results of studies into the pages that show them: `make_readme.py` after `make docs`.

The tables are made from the CSV files in docs/digits, docs/cifar10-check and docs/severity, which
`make docs`, `make cifar10-docs` and `make severity-docs` copy from the results.
"""

import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from make_published_page import BLOCKS as PUBLISHED
from make_published_page import GROUPS, NETWORK
from make_published_page import KEPT as NETWORKS
from make_severity_page import BLOCKS as SEVERITY
from take_over import markdown_table, update_page

from matcheval.names import ORIGINS
from matcheval.protocol.verdicts import Verdict, verdicts, with_accuracies
from matcheval.protocol.words import percent, with_interval

ROOT = Path(__file__).resolve().parents[1]
DIGITS, PHOTOGRAPHS = ROOT / "docs" / "digits", ROOT / "docs" / "cifar10-check"
SHOWN_CASES = (
    "no change", "no change, 10 pairs", "confidence alone",
    "at equal confidence alone, 3 points", "new calibrated, old underconfident",
    "both overconfident by 11 points", "models that differ", "30 % become confident errors",
)  # fmt: skip
UNTOLD = "no change, every image twice"  # errors are larger than anything tells
SIMULATED = ROOT / "benchmarks" / "results" / "verdicts.csv"
SHOWN_SETS = (  # with the number of labels
    ("calibrated 0.85", 100), ("calibrated 0.99", 100), ("overconfident", 100),
    ("half of the most confident fifth wrong", 50),
    ("inverted", 200),
)  # fmt: skip
SHOWN_METHODS = {
    "hypergeometric": "exact, random", "auto": "`auto`, random", "mixed": "`mixed`",
    "ppr_cs": "`ppr_cs`",
}  # fmt: skip
COVERAGE = SIMULATED.with_name("few_labels.csv")
_IN_DOCS = ("results", "reading", "confidence", "protocol", "few-labels")
PAGES = ("README.md", "benchmarks/README.md", *(f"docs/{name}.md" for name in _IN_DOCS))


OVERVIEW = ("gap", "confidence_part", "matched_gap", "conditional_part")


def overview_table() -> str:
    """Return a table of mean gaps and their parts, by criterion 1, a row per group of models."""
    published = pd.read_csv(SIMULATED.with_name("published_pair_groups.csv"))
    published = published[published["criterion"] == "label_probability"].set_index("group")
    rows = []
    for group, title in GROUPS.items():
        row = published.loc[group]
        head = [f"CIFAR-10.1: {title}", row["models"]]
        rows.append([head, row, row["unmatched"]])
    for title, folder in (("JPEG copies", PHOTOGRAPHS), ("digits by new writers", DIGITS)):
        row = pd.read_csv(folder / "gaps.csv").set_index("matching").loc["label_probability"]
        rows.append([[title, row["n_models"]], row, row["fraction_unmatched"]])
    cells = [
        [*map(str, head), *(with_interval(row, part) for part in OVERVIEW), percent(unmatched)]
        for head, row, unmatched in rows
    ]
    heads = ["new set: models trained on", "models", "gap", "explained by confidence",
             "matched gap", "remaining gap, in bins", "unmatched"]  # fmt: skip
    return markdown_table(heads, cells)


def judge_study(folder: Path, model: str = "") -> Verdict:
    """Return the verdict on a study's pair, by the mean over its models or by one of them."""
    means, models = pd.read_csv(folder / "gaps.csv"), pd.read_csv(folder / "gaps_of_models.csv")
    pair_models = with_accuracies(models, pd.read_csv(folder / "accuracies.csv"))
    if model:
        pair_models = pair_models.loc[[model]]
        means = pair_models.rename(columns={"criterion": "matching"}).assign(n_left_out=0)
    first = means.assign(remarks=means["remarks"].astype(object).fillna("")).iloc[0]
    return verdicts([first], {(first["pair"], first["matching"]): pair_models})[0]


def claims_table() -> str:
    """Return a table of the claims on the example network on CIFAR-10.1."""
    judged = judge_study(NETWORKS, NETWORK)
    rows = [[str(claim.strength), claim.text] for claim in judged.claims]
    return markdown_table(["strength", "claim"], [*rows, ["next", judged.next_step]], n_texts=2)


def plain_networks_table() -> str:
    """Return a table of accuracies and gaps of two networks trained on clean images alone."""
    models = pd.read_csv(NETWORKS / "gaps_of_models.csv").set_index("model")
    accuracies = pd.read_csv(NETWORKS / "accuracies.csv").set_index("model")
    rows = []
    for name in (NETWORK, "resnet-44"):
        ends = (
            " to ".join(f"{100 * accuracies.loc[name, f'{what}_{o}']:.1f}" for o in ORIGINS)
            for what in ("accuracy", "confidence")
        )
        rows.append([name, *ends, *(with_interval(models.loc[name], part) for part in OVERVIEW)])
    head = ["network", "accuracy (%)", "mean confidence (%)", "gap", "explained by confidence",
            "matched gap", "remaining gap, in bins"]  # fmt: skip
    return markdown_table(head, rows)


def scores_table() -> str:
    """Return a table of how much matching on each score narrows the mean gaps of two studies."""
    tables = []
    for folder in (DIGITS, PHOTOGRAPHS):
        text = (folder / "score_comparison.md").read_text().splitlines()
        head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text)
        found = pd.DataFrame(rows, columns=head).set_index("Score, on ranks")
        shown = found["Smaller by"] + " (" + found["Without warning"] + ")"
        tables.append(shown[(found["Matching"] == "criterion 2") & (found["Models"] != "0")])
    rows = [[score, *(cells.get(score, "") for cells in tables)] for score in tables[0].index]
    return markdown_table(["score", "digits", "photographs"], rows)


def verdicts_table() -> str:
    """Return a table of how often verdicts are wrong in simulated cases, and a line on the rest."""
    found = pd.read_csv(SIMULATED).set_index("case").loc[[*SHOWN_CASES]].reset_index()
    rows = [
        [
            row["case"],
            f"{row['n_original']:,} and {row['n_replication']:,}",
            *(f"{row[name]:.1f}" for name in ("wrong", "established", "open", "calibration")),
        ]
        for _, row in found.iterrows()
    ]  # fmt: skip
    wrong = f"wrong reports (of {found['reports'].iloc[0]:,})"
    heads = ["truth", "images", wrong, "accuracy established", "inconclusive"]
    shown = markdown_table([*heads, "calibration established"], rows, 2)
    every = pd.read_csv(SIMULATED).set_index("case")["wrong"]
    others = every.drop(UNTOLD)
    return (
        f"{shown}\nOver all {len(every)} cases, at most {others.max():.1f} % of the reports are "
        f"wrong, except where every image\noccurs twice and no group says so "
        f"({every[UNTOLD]:.1f} %).\n"
    )


def intervals_table() -> str:
    """Return a table of how often 95 % intervals hold the truth if only confidence changes."""
    found = pd.read_csv(SIMULATED.with_name("interval_coverage.csv"))
    names = ("matched_gap", "confidence_part_wide", "conditional_part_wide")
    rows = []
    for _, row in found.iterrows():
        n, m = row["sizes"].strip("()").split(", ")
        errors = {name: math.sqrt(row[name] * (100 - row[name]) / row["reports"]) for name in names}
        cells = [f"{row[name]:.1f} ± {errors[name]:.1f}" for name in names]
        # Means of the Beta distributions, less the offset.
        share = "99.0 to 97.6" if "99 %" in row["case"] else "91.1 to 87.9"
        rows.append([share, f"{int(n):,} and {int(m):,}", *cells])
    heads = ["accuracy (%)", "images", "matched gap", "explained part", "remaining gap, in bins"]
    return markdown_table(heads, rows, 2)


def coverage_table() -> str:
    """Return a table of how often intervals from few labels hold the accuracy, by simulated set."""
    found = pd.read_csv(COVERAGE, dtype={"coverage": str})
    names = found["method"].where(found["design"] == "random", found["design"])
    cells = found.assign(name=names).set_index(["set", "n", "name"])["coverage"]
    rows = [
        [name, str(n), *(cells.get((name, n, method), "") for method in SHOWN_METHODS)]
        for name, n in SHOWN_SETS
    ]
    two = [f"{cells['two models', n, 'disagreement']} from {n}" for n in (50, 100, 200)]
    lines = f"The difference of two models, from labels where they differ: {', '.join(two)}."
    return f"{markdown_table(['set', 'labels', *SHOWN_METHODS.values()], rows)}\n{lines}\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "overview": overview_table,
    "cifar10.1/verdict": claims_table,
    "cifar10.1/plain": plain_networks_table,
    "scores": scores_table,
    "verdicts": verdicts_table,
    "intervals": intervals_table,
    "few-labels": coverage_table,
    **PUBLISHED,
    **SEVERITY,
}


if __name__ == "__main__":
    for name in PAGES:
        update_page(ROOT / name, lambda block: BLOCKS[block]())
