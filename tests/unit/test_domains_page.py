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


def words():
    return words_of(PAGE.name)


def test_the_page_is_made_by_its_script():
    page = PAGE.read_text(encoding="utf-8")
    assert take_over(page, lambda block: BLOCKS[block]()) == page, "make domains-docs"
    assert "| two (2) | ERM | 73.7 |" in page


def test_what_is_said_of_pacs():
    table, told = averages("pacs"), []
    fair = table[[name.startswith(FAIR) for name, _ in table.index]]
    every = table.loc["source_validation_per_run"]
    lost = every.loc[["coral", "selfreg"]]
    assert (fair.loc[(slice(None), ["coral", "selfreg"]), "gain"] < 0).all()
    assert fair.loc[(slice(None), ["coral", "selfreg"]), "p_holm"].round(2).max() == 0.03
    sizes = " and ".join(points(-gain) for gain in lost["gain"])
    p, smaller = lost["p_holm"]
    told.append(f"lose* {sizes} points if every run chooses (adjusted p {p:.2f} and {smaller:.3f}")
    default = table.loc["default"]
    also = default.query("gain < 0 and p_holm < 0.05").drop(["coral", "selfreg"])
    assert list(also.index) == ["sd", "vrex", "rcs"]
    told.append("SD, VREx and RCS, by {}, {} and {}.".format(*map(points, -also["gain"])))
    gain = fair[(fair["p_holm"] < 0.05) & (fair["gain"] > 0)]
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
    lost = [
        points(-table.loc[("source_validation_per_run", one), "gain"]) for one in ("fishr", "eqrm")
    ]
    told.append(f"Fishr and EQRM lose* {lost[0]} and {lost[1]} points")
    assert (table.loc[(slice(None), ["fishr", "eqrm"]), "p_holm"] < 0.001).all()
    default = table.loc["default"]
    lost = (points(-default.loc[one, "gain"]) for one in ("vrex", "rcs"))
    told.append("so do VREx and RCS, by {} and {}.".format(*lost))
    assert (default.loc[["vrex", "rcs"], "p_holm"] < 0.001).all()
    rows = table[[name.startswith(FAIR) for name, _ in table.index]]
    gain = rows[(rows["p_holm"] < 0.05) & (rows["gain"] > 0)]
    assert sorted(gain.index) == [
        ("leave_one_domain_out", "sagnet"), ("leave_one_domain_out_per_run", "sagnet"),
        ("source_validation_per_run", "coral"),
    ]  # fmt: skip
    for name, selection, said in (
        (
            "CORAL",
            "source_validation",
            "CORAL gains {} points if every run chooses by source validation (adjusted p {:.2f})",
        ),
        (
            "SagNet",
            "leave_one_domain_out",
            "SagNet {} if it chooses by leaving one domain out ({:.2f})",
        ),
    ):
        row = table.loc[(f"{selection}_per_run", name.lower())]
        told.append(said.format(points(row["gain"]), row["p_holm"]))
    coral, sagnet = default.loc["coral"], default.loc["sagnet"]
    both = " and ".join(interval_of(one, "gain", "+.1f") for one in (coral, sagnet))
    told.append(f"{both}, with adjusted p of")
    told.append(f"{coral['p_holm']:.2f} and {sagnet['p_holm']:.2f}.")
    chosen = table.loc["oracle_per_run"].query("gain > 0 and p_holm < 0.05")["gain"]
    told.append(
        f"{len(chosen)} of 10 algorithms gain {points(chosen.min())} to {points(chosen.max())}"
    )
    by_mean = table.loc["oracle"].query("gain > 0 and p_holm < 0.05")
    told.append(f"points if every run chooses, {len(by_mean)} if the mean does")
    change = (
        table.loc["leave_one_domain_out_per_run", "mean"]
        - table.loc["source_validation_per_run", "mean"]
    )
    told.append(f"by {points(change.min(), '+.1f')} to {points(change.max(), '+.1f')} points from")
    by_target = read("digit-domains-real").query("selection == 'source_validation_per_run'")
    ends = by_target.groupby("block")["mean"].agg(["min", "max"])
    shown = {
        one: f"{points(low, '.0f')} to {points(high, '.0f')} % on"
        for one, low, high in ends.itertuples()
    }
    told.append(f"{shown['mnist-m']} MNIST-M, but {shown['mnist']} MNIST")
    dro = by_target[by_target["algorithm"] == "group_dro"].set_index("block")
    up, down = dro.loc["mnist"], dro.loc["usps"]
    gain, loss = points(up["gain"]), points(-down["gain"])
    told.append(f"GroupDRO gains {gain} points on MNIST and loses {loss} on USPS")
    every = (
        by_target[by_target["block"] != "average"].set_index(["algorithm", "block"])["p"].dropna()
    )
    assert len(every) == 40
    adjusted = pd.Series(holm(every), every.index)
    over_all = (adjusted[("group_dro", one)] for one in ("mnist", "usps"))
    told.append(f"(adjusted p {up['p_holm']:.2f} and {down['p_holm']:.3f}; if also for the four")
    told.append("targets, {:.2f} and {:.2f})".format(*over_all))
    steps = pd.read_csv(KEPT / "digit-domains-real-steps.csv")["trainings"]
    told.append(f"in {steps.iloc[-1]} of those on three sources of real digits")
    assert set(read("digit-domains-real")["n_runs"]) == {10}
    assert [one for one in told if one not in words()] == []
