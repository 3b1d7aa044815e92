"""Numbers on pages are those of their tables, of files, and of the commands shown."""

import re
import shlex
from math import sqrt

import make_accuracy_page
import make_domains_page
import make_readme
import make_replication_page
import make_severity_page
import numpy as np
import pandas as pd
import pytest
from make_published_page import SHOWN_NETWORKS
from make_readme import UNTOLD
from take_over import take_over
from test_gap_errors import COVERAGE

import matcheval as me
from matcheval.cli.main import main
from matcheval.protocol.settings import Criterion, MatchingSettings
from studies import ROOT

TOLERANCE = 0.3  # percentage points, as the page says
# Means over the 20 models on seven combinations of processor and settings, in percentage points:
# of |gap|, and of |matched gap| by criterion.
SEEN = {"gap": (4.26, 4.46), "label_probability": (1.58, 1.73), "probability": (2.52, 2.68)}


def words_of(page):
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def points(value, shown=".1f"):
    return f"{100 * value:{shown}}".replace("-", "−")


def interval_of(row, name, shown=".1f"):
    low, high = (points(row[f"{name}_{end}"], shown) for end in ("low", "high"))
    return f"{points(row[name], shown)} [{low}, {high}]"


@pytest.mark.parametrize(
    ("script", "read"),
    [
        (make_accuracy_page, lambda block: make_accuracy_page.BLOCKS[block]()),
        (make_domains_page, lambda block: make_domains_page.BLOCKS[block]()),
        (make_replication_page, lambda block: make_replication_page.BLOCKS[block]()),
    ],
)
def test_a_page_is_made_by_its_script(script, read):
    page = script.PAGE.read_text(encoding="utf-8")
    assert "<!-- begin " in page
    assert take_over(page, read) == page, script.__name__


def test_means_over_kinds_of_corruptions_by_hand():
    rows = pd.DataFrame(
        {"gap": [1.0, 3.0], "confidence_part": [1.0, 1.0], "share": [float("nan")] * 2}
    )
    value, low, high = make_severity_page.over_kinds(rows)
    assert value["gap"] == 2
    assert value["share"] == 50  # the ratio of sums, not the mean of 100 and 33
    assert (low["share"], high["share"]) == (pytest.approx(100 / 3), 100)


def test_tables_of_pages_are_made_by_their_script():
    named = set()
    for name in make_readme.PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        entered = lambda block: named.add(block) or make_readme.BLOCKS[block]()  # noqa: E731
        assert take_over(page, entered) == page, name
    assert named == set(make_readme.BLOCKS)


@pytest.mark.parametrize("criterion", list(Criterion))
def test_the_tolerance_is_kept(criterion):
    name = "accuracies" if criterion is Criterion.LABEL_PROBABILITY else criterion.value
    table = pd.read_csv(ROOT / "docs" / "digits" / f"{name}.csv")
    assert f"within {TOLERANCE} points of those here" in words_of("results.md")
    for name, values in (("gap", table.gap), (criterion.value, table.matched_gap_mean)):
        found = 100 * values.abs().mean()
        low, high = SEEN[name]
        assert high - TOLERANCE <= found <= low + TOLERANCE


ACCURACY = ROOT / "docs" / "accuracy"


def result(name):
    return pd.read_csv(ROOT / "benchmarks" / "results" / f"{name}.csv")


def ends(values, shown=".1f"):
    return f"{values.min():{shown}} to {values.max():{shown}}"


def protocol():
    yield f"up to ε, {100 * MatchingSettings().epsilon:.1f} points"
    yield "simulated truth in {:.0f} to {:.0f} %".format(*(100 * end for end in COVERAGE))
    sd = [f"{value:.0f}" for value in result("reference_spread")["excess_sd"]]
    yield f"of {sd[0]} points with 600 and 497 datapoints, and of {sd[4]} with 10,000"
    assert result("verdicts").set_index("case")["wrong"].drop(UNTOLD).max() <= 5
    table = result("binning_bias")
    yield f"covered it in {ends(table['coverage_wide'], 'g')} % of runs"
    yield f"alone in as few as {table['coverage_20_bins'].min():.0f} %"
    intervals = result("interval_coverage").filter(regex="matched_gap|_wide")
    yield f"in {ends(intervals.to_numpy(), '.0f')} % of runs ([table]"


def accuracy_prediction():
    for row in result("prediction_coverage").itertuples():
        held = f"{row.coverage} ± {row.coverage_se}" if row.coverage else "0 (none)"
        cells = row.case, f"{row.n:,}", f"{row.recommended:g}", held, row.error, row.half_width
        yield f"| {' | '.join(map(str, cells))} |"
    table = result("recommendation").query("group == 'all'").set_index(["study", "recommended"])
    for study, title in (("digits-shifts", "digits"), ("cifar10-shifts", "photographs")):
        row, none = table.loc[study, "ATC-MC"], table.loc[study, "none"]
        cells = f"{row['cases'] + none['cases']:,} | {row['cases']:,}"
        errors = f"{row['mean_error']} ({row['error_90_percent']}) | {row['unchanged']}"
        yield f"| {title} | {cells} | {errors} | {none['mean_error']} |"
    differences = pd.read_csv(ACCURACY / "cifar10-shifts-differences.csv").query("group == 'Syn2'")
    differences = differences[differences["calibrated_on"].isin([np.nan, "Syn1"])]
    for protocol, method in (("direct", "cott"), ("calibrated", "cot_fitted")):
        pairs = differences[differences["protocol"] == protocol]
        pairs = pairs[(pairs["method_1"] == method) | (pairs["method_2"] == method)]
        clear = (pairs["difference_low"] > 0) | (pairs["difference_high"] < 0)
        yield f"{clear.sum()} of {len(pairs)} paired differences from"
    rises = []
    for study in ("digits-shifts-disjoint", "cifar10-shifts-disjoint"):
        errors = pd.read_csv(ACCURACY / f"{study}.csv").query("protocol == 'calibrated'")
        errors = errors.set_index(["calibrated_on", "group", "method"])["mae"].sort_index()
        for fitted, tested in (("Syn1", "Syn2"), ("Syn2", "Syn1")):
            rises.append(errors[f"{fitted}-others", tested] - errors[fitted, tested])
    yield f"raises no mean error by more than {100 * pd.concat(rises).max():.1f} points"


def benchmarks():
    flips = result("bit_flips")
    assert (flips["refused"] == flips["flips"]).all()
    per_kind, seed = flips.loc[0, ["flips", "seed"]]
    yield f"all {flips['flips'].sum():,} flips ({per_kind:,} per kind, seed {seed}) were refused"
    soak, on_slurm = result("soak"), result("soak_slurm")
    assert not soak["wrong"].any()
    assert not on_slurm[["differing", "lost"]].any(axis=None)
    seed, rounds, minutes = soak.loc[0, ["seed", "rounds", "minutes"]]
    yield f"{rounds:g} rounds ({soak['times'].sum()} events, {minutes:g} minutes, seed {seed:g})"
    yield f"{on_slurm.loc[0, 'rounds']} rounds on a real SLURM ({on_slurm['times'].sum()} events)"
    table = result("published_pair_controls")
    table = table[table["control"] != "2,000 of CIFAR-10, and CIFAR-10.1"]
    names = ["gap", "confidence_part", "matched_gap"]
    assert table[names].abs().max(axis=None) < 0.01
    clear = sum(((table[f"{n}_low"] > 0) | (table[f"{n}_high"] < 0)).sum() for n in names)
    n = 3 * len(table)
    yield f"In {len(table)} such comparisons"
    yield f"stayed below 1 point, and {clear} of {n} intervals excluded zero, where {0.05 * n:.0f}"
    unmatched = result("iid_control").query("criterion == 'label_probability'")
    shares = [f"{share:.0f} %" for share in unmatched["unmatched_percent"]]
    yield f"{shares[0]} of the targets stay unmatched, almost as many as the {shares[1]}"
    table = result("robustness_coverage")
    ratios = ends(table["wider_by_counts"])
    yield f"{ends(table['coverage_images'], 'g')} % by images; intervals by counts are {ratios}"


def analyses():
    table = (ROOT / "docs" / "analyses" / "sampling" / "changes.md").read_text("utf-8")
    yield "on average by {}, {} and {} points".format(*re.findall(r"([−+][0-9.]+) \| 8", table))


def reading():
    old, new, n = 0.95, 0.949, 20_000
    error = 1.96 * sqrt((old * (1 - old) + new * (1 - new)) / n)
    low, high = (100 * (old - new + sign * error) for sign in (-1, 1))
    yield f"it is {100 * (old - new):.2f} points lower on new [{low:.2f}, {high:.2f}]"


def confidence():
    folder = ROOT / "docs" / "cifar10.1"
    gaps = pd.read_csv(folder / "gaps_of_models.csv").set_index("model")
    network, resnext, resnet = (gaps.loc[name] for name in SHOWN_NETWORKS)
    part, gap = (f"{100 * network[name]:.1f}" for name in ("confidence_part", "gap"))
    yield f"explains {part} of the Wide ResNet's {gap} points"
    part, gap = (f"{100 * resnet[name]:.1f}" for name in ("confidence_part", "gap"))
    yield f", and {part} of the ResNet"
    yield f"32's {gap}."
    over = pd.read_csv(folder / "calibration.csv").set_index(["model", "origin"])["overconfidence"]
    yield f"overconfident by {100 * over[resnext.name, 'replication']:.1f} points on CIFAR"
    row = pd.read_csv(folder / "thresholds.csv").query("dataset != 'cifar10' and threshold == 0.9")
    accepted, promised, wrong = (
        row["n_above"] / row["n"], 1 - row["mean_confidence"], 1 - row["accuracy"]
    )  # fmt: skip
    yield f"accepts {100 * accepted.item():.0f} % of CIFAR"
    yield f"promises {100 * promised.item():.1f} % of errors, but {100 * wrong.item():.1f} % are"
    predicted = pd.read_csv(folder / "predicted.csv").set_index(["model", "method"])
    errors = (predicted["predicted"] - predicted["accuracy"]).abs()[network.name]
    yield f"wrong by {100 * errors['ac']:.1f} points"
    yield f"wrong by {100 * errors['atc_mc']:.1f}."


SENTENCES = {
    "../benchmarks/README": benchmarks, "accuracy-prediction": accuracy_prediction,
    "analyses": analyses, "confidence": confidence, "protocol": protocol, "reading": reading,
}  # fmt: skip


@pytest.mark.parametrize("page", SENTENCES)
def test_sentences_tell_what_the_files_say(page):
    told = [one.replace("-", "−") for one in SENTENCES[page]()]
    assert [one for one in told if one not in words_of(f"{page}.md")] == []


def test_commands_print_what_the_pages_show(tmp_path, monkeypatch, capsys):
    """The session of few-labels.md and the tutorial's twenty labels; all labels are filled in."""
    monkeypatch.chdir(tmp_path)
    main(["init", "--example", "predictions"])
    monkeypatch.chdir("example-predictions/new-writers")
    compared = me.compare("../known-writers/{model}.csv", "{model}.csv", seeds=1)
    over = compared.to_pandas("models", all=True).drop_duplicates("model").set_index("model")
    over = 100 * over["overconfidence_replication"]
    table = pd.read_csv("random-forest.csv")
    page = (ROOT / "docs" / "few-labels.md").read_text(encoding="utf-8")
    session = re.findall(r"^\$ matched-eval (.*)\n((?:(?!\$|```).*\n)*)", page, re.MULTILINE)
    for command, shown in session:
        capsys.readouterr()
        main(shlex.split(command))
        assert set(shown.splitlines()) - set(capsys.readouterr().out.splitlines()) == set()
        if folder := re.search("--output (.*)", command):
            work = pd.read_csv(f"{folder[1]}/worklist.csv")
            work.assign(label=table["label"][work["index"]].array).to_csv("labels.csv", index=False)
        if folder and folder[1] == "first":
            found = me.estimate_accuracy("random-forest.csv", "labels.csv", plan="first/plan.json")
            interval = f"{found.lower:.3f} to {found.upper:.3f}"
    assert len(session) == 5
    n, every = len(table), f"{(table['label'] == table['prediction']).mean():.3f}"
    assert f"interval is {interval}; all {n} labels give {every}." in words_of("tutorial.md")
    fall = 100 * compared.gaps["probability"].gap.value
    for said in (
        f"Accuracy falls by {fall:.1f} points",
        f"`naive-bayes` is overconfident by {over['naive-bayes']:.1f} points",
        f"`random-forest` underconfident by {-over['random-forest']:.1f}.",
    ):
        assert said in words_of("tutorial.md")
    for said in (f"has {n} scans", f"All labels give {every}", f"differ on {len(work)} datapoints"):
        assert said in words_of("few-labels.md")
