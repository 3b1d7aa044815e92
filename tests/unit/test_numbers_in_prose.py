"""Numbers in sentences of pages are those of the files that hold them, or of the commands shown."""

import re
import shlex
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from make_published_page import SHOWN_NETWORKS
from make_readme import UNTOLD
from test_gap_errors import COVERAGE
from test_pages import words_of

import matcheval as me
from matcheval.cli.main import main
from matcheval.protocol.settings import MatchingSettings
from studies import ROOT

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
    wrong = result("verdicts").set_index("case")["wrong"]
    assert wrong.drop(UNTOLD).max() <= 5
    yield f"at most {wrong.drop(UNTOLD).max():.1f} % of the reports were wrong"
    yield f"no group says so: {wrong[UNTOLD]:.1f} %"
    table = result("binning_bias")
    yield f"covered it in {ends(table['coverage_wide'], 'g')} % of runs"
    yield f"alone in as few as {table['coverage_20_bins'].min():.0f} %"
    intervals = result("interval_coverage").filter(regex="matched_gap|_wide")
    yield f"in {ends(intervals.to_numpy(), '.0f')} % of runs ([table]"


def benchmarks():
    sd = [f"{value:.0f}" for value in result("reference_spread")["excess_sd"]]
    yield f"{sd[0]} points (criterion 1) and {sd[1]} points (criterion 2) with 600 and 497"
    yield f"and of {sd[4]} and {sd[5]} with 10,000"
    table = result("reference_variants")
    small, middle = (
        f"{a} to {a + b:.1f}" for a, b in table.loc[[0, 2], ["excess", "cross"]].values
    )
    yield f"from {middle} points with 2,000 datapoints, but from {small} with 600 and 497"
    table = result("binning_bias")
    is_hard = (table["shift"] == "large") & (table["n_source"] == 50_000)
    yield f"covered it in {ends(table['coverage_wide'], 'g')} % of runs"
    yield f"intervals of 20 bins in {ends(table['coverage_20_bins'][~is_hard], 'g')} %"
    yield f"but in only {ends(table['coverage_20_bins'][is_hard], '.0f')} %"
    yield f"a bias of {table['bias'][is_hard].max():.1f} points)"
    assert set(result("interval_coverage")["reports"]) == {400}
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


def datasets():
    table = result("rounding")
    assert table["most"].max() == 1
    yield f"changes up to {table['differ'].max():.1f} % of the grey levels by one (mean"
    yield f"(mean {table['differ'].mean():.1f} %)"
    change = table["resnet20"]
    yield f"by up to {change.abs().max()} points (mean {change.mean():.3f}; ["
    yield f"[{len(table)} sets]"


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
    "analyses": analyses, "confidence": confidence, "datasets": datasets,
    "protocol": protocol, "reading": reading,
}  # fmt: skip


@pytest.mark.parametrize("page", SENTENCES)
def test_sentences_tell_what_the_files_say(page):
    told = [one.replace("-", "−") for one in SENTENCES[page]()]
    assert [one for one in told if one not in words_of(f"{page}.md")] == []


def test_hours_are_rounded():
    """Each to the digits that the page shows."""
    said = "{0} to {0} of training and {0} to {0} of inference; for `imagenet`, {0} to {0}"
    shown = re.search(said.format(r"([0-9.]+)"), words_of("results.md")).groups()
    hours = result("paper_cost").query("`models of` == 'all'").filter(like="GPU hours")
    for number, value in zip(shown, hours.iloc[:, ::-1].to_numpy().ravel(), strict=True):
        digits = len(number.replace(".", "").strip("0"))
        assert float(number) == float(f"{value:.{digits}g}")


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
