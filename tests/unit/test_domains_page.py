"""What docs/domain-generalization.md says is in the results on file beside it."""

import pandas as pd
from make_domains_page import BLOCKS, KEPT, PAGE, read
from take_over import take_over
from test_readme import interval_of, points, words_of

from matcheval.statistics.significance import holm
from studies import ROOT

FAIR = ("default", "source_validation", "leave_one_domain_out")


def averages(study):
    """Over the targets left out, by algorithm and selection."""
    table = read(study)
    return table[table["block"] == "average"].set_index(["selection", "algorithm"])


def fair(table):
    """Averages by a choice of hyper-parameters that does not look at the targets."""
    return table[[name.startswith(FAIR) for name, _ in table.index]]


def loss_of(row):
    """A loss in points, with its interval."""
    shown = (points(-row[f"gain{end}"]) for end in ("", "_high", "_low"))
    return "{} [{}, {}]".format(*shown)


def words():
    return words_of(PAGE.name)


def test_the_page_is_made_by_its_script():
    page = PAGE.read_text(encoding="utf-8")
    assert take_over(page, lambda block: BLOCKS[block]()) == page, "make domains-docs"
    assert "| two (2) | ERM | 73.7 |" in page


def test_what_is_said_of_pacs():
    table, told = averages("pacs"), []
    every, chosen = table.loc["source_validation_per_run"], fair(table)
    lost = every.loc[["coral", "selfreg"]]
    assert (chosen.loc[(slice(None), ["coral", "selfreg"]), "gain"] < 0).all()
    assert chosen.loc[(slice(None), ["coral", "selfreg"]), "p_holm"].round(2).max() == 0.03
    sizes = " and ".join(points(-gain) for gain in lost["gain"])
    p, smaller = lost["p_holm"]
    told.append(f"lose* {sizes} points if every run chooses (adjusted p {p:.2f} and {smaller:.3f}")
    default = table.loc["default"]
    also = default.query("gain < 0 and p_holm < 0.05").drop(["coral", "selfreg"])
    assert list(also.index) == ["sd", "vrex", "rcs"]
    told.append("SD, VREx and RCS, by {}, {} and {}.".format(*map(points, -also["gain"])))
    longer = averages("pacs-longer").loc["default"]
    shown = (loss_of(longer.loc[one]) for one in ("coral", "selfreg"))
    told.append("still lose: {} and {}".format(*shown))
    gain = chosen.query("gain > 0 and p_holm < 0.05")
    assert list(gain.index) == [("source_validation_per_run", "eqrm")]
    eqrm, by_mean = default.loc["eqrm"], table.loc[("source_validation", "eqrm")]
    told.append(f"gain* {points(*gain['gain'])} points if every run chooses (adjusted p ")
    told.append(f"{gain['p_holm'].iloc[0]:.2f}). With default")
    assert by_mean["gain"] == eqrm["gain"]
    told.append(f"{interval_of(eqrm, 'gain', '+.1f')} ({eqrm['p_holm']:.2f} and")
    told.append(f"{by_mean['p_holm']:.2f}).")
    published = pd.read_csv(ROOT / "studies" / "domainbed-pacs.csv").dropna(subset="table")
    average = published[published["rows"].str.contains("block=average")]
    theirs = average[average["rows"].str.contains("source_validation")]["published"].astype(float)
    assert len(theirs) == 5
    told.append(f"are {theirs.min()} to {theirs.max()} %")
    told.append(f"ours are {theirs.mean() - 100 * every['mean'].mean():.0f} points lower")
    steps = pd.read_csv(KEPT / "pacs-steps.csv")["trainings"]
    told.append(f"{steps.iloc[-1]} of the {steps.sum():,} trainings on PACS")
    assert set(read("pacs")["n_runs"]) == {10}
    assert [one for one in told if one not in words()] == []


def test_what_is_said_of_real_digits():
    table, told = averages("digit-domains-real"), []
    every, default = table.loc["source_validation_per_run"], table.loc["default"]
    gain = fair(table).query("gain > 0 and p_holm < 0.05")
    sagnet = gain.xs("sagnet", level="algorithm")
    assert len(sagnet) == fair(table).index.get_level_values("selection").nunique() == 5
    assert (sagnet["p_holm"] < 0.001).all()
    others = sagnet["gain"].drop("source_validation_per_run")
    of_sagnet = points(every.loc["sagnet", "gain"])
    told.append(f"SagNet gains within 200 steps* {of_sagnet} points if every run chooses")
    told.append(f"{points(others.min())} to {points(others.max())} by the other fair choices")
    rest = gain.drop("sagnet", level="algorithm")
    assert list(rest.index) == [("source_validation_per_run", "vrex")]
    told.append(f"VREx gains {points(*rest['gain'])} by one of five choices (")
    told.append(f"({rest['p_holm'].iloc[0]:.2f}), and loses {points(-default.loc['vrex', 'gain'])}")
    lost = [points(-every.loc[one, "gain"]) for one in ("fishr", "eqrm")]
    told.append(f"Fishr and EQRM lose* {lost[0]} and {lost[1]} points")
    assert (table.loc[(slice(None), ["fishr", "eqrm"]), "p_holm"] < 0.001).all()
    told.append(f"so does RCS, by {points(-default.loc['rcs', 'gain'])}: it stays at chance")
    longer = averages("digits-longer").loc["default"]
    told.append(f"it is {interval_of(longer.loc['sagnet'], 'gain', '+.1f')}, where ERM has")
    erm = points(longer.loc["erm", "mean"]), points(default.loc["erm", "mean"])
    told.append("{} % in place of {}".format(*erm))
    told.append(f"within 800 steps, EQRM loses {loss_of(longer.loc['eqrm'])}")
    assert (default.loc[["vrex", "rcs"], "p_holm"] < 0.001).all()
    chosen = table.loc["oracle_per_run"].query("gain > 0 and p_holm < 0.05")["gain"]
    by_mean = table.loc["oracle"].query("gain > 0 and p_holm < 0.05")
    ends = f"{points(chosen.min())} to {points(chosen.max())}"
    told.append(f"{len(chosen)} of 10 algorithms gain {ends} points if every run chooses,")
    told.append(f"{len(by_mean)} if the mean does")
    change = table.loc["leave_one_domain_out_per_run", "mean"] - every["mean"]
    told.append(f"by {points(change.min(), '+.1f')} to {points(change.max(), '+.1f')} points from")
    by_target = read("digit-domains-real").query("selection == 'source_validation_per_run'")
    ends = by_target.groupby("block")["mean"].agg(["min", "max"])
    shown = {
        one: f"{points(low, '.0f')} to {points(high, '.0f')} % on"
        for one, low, high in ends.itertuples()
    }
    told.append(f"{shown['mnist-m']} MNIST-M, but {shown['mnist']} MNIST")
    rows = by_target[by_target["block"] != "average"].set_index(["algorithm", "block"])
    compared = rows["p"].dropna()
    assert len(compared) == 40
    of_all = pd.Series(holm(compared), compared.index)["sagnet"]
    mnist, usps, mixed, scans = (
        rows.loc[("sagnet", one)] for one in ("mnist", "usps", "mnist-m", "scans")
    )
    told.append(f"SagNet gains {points(mnist['gain'])} points on MNIST and {points(usps['gain'])}")
    assert f"{mnist['p_holm']:.3f}" == f"{usps['p_holm']:.3f}"
    over_all = f"{of_all['mnist']:.3f}"
    assert over_all == f"{of_all['usps']:.3f}"
    told.append(
        f"(adjusted p {mnist['p_holm']:.3f} for both; if also for the four targets, {over_all})"
    )
    told.append(f"{points(mixed['gain'], '+.1f')} and {points(scans['gain'], '+.1f')} are not")
    assert min(mixed["p_holm"], scans["p_holm"]) > 0.05
    steps = pd.read_csv(KEPT / "digit-domains-real-steps.csv")["trainings"]
    told.append(f"in {steps.iloc[-1]} of those on three sources of real digits")
    assert set(read("digit-domains-real")["n_runs"]) == {10}
    assert [one for one in told if one not in words()] == []
