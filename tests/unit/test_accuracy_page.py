"""The tables in docs/accuracy-prediction.md are those of the errors on file beside it."""

import re

import make_accuracy_page
import numpy as np
import pandas as pd
from make_accuracy_page import KEPT, block, errors
from sklearn.datasets import load_digits
from take_over import take_over
from test_accuracy_differences import SETS
from test_accuracy_tables import errors_of, predictions
from test_readme import interval_of, points, words_of

from matcheval.datasets.digits import rows_of
from studies import ROOT

DATA = {"digits-shifts": "digits", "cifar10-shifts": "photographs"}


def test_the_page_is_made_by_its_script():
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert take_over(page, block) == page, "make accuracy-docs"
    assert "| DoC | 4.2 [3.3, 5.1] | 4.2 | 152.5 (52 flagged) |" in errors("cifar10-shifts")


def kept(file, **chosen):
    """Rows of a CSV file in docs/accuracy/ that have these values."""
    found = pd.read_csv(KEPT / f"{file}.csv", keep_default_na=False, na_values={
        name: [""] for name in ("mae", "mae_unflagged", "bias", "difference_low", "difference_high")
    })  # fmt: skip
    for name, value in chosen.items():
        found = found[found[name] == value]
    return found


def paired(study, first, **chosen):
    """Differences of other methods' errors on Syn2 from that of the method with the lowest."""
    found = kept(f"{study}-differences", group="Syn2", **chosen)
    return found[found["method_1"] == first].set_index("method_2")


def on_syn2(study, **chosen):
    return kept(study, group="Syn2", variant="", **chosen).set_index("method")["mae"].sort_values()


def variation(labels):
    """The total variation of class frequencies, %, between the first 296 datapoints and others."""
    halves = (np.bincount(half) / len(half) for half in (labels[:296], labels[296:]))
    return 50 * abs(np.subtract(*halves)).sum()


def test_sentences_tell_what_the_tables_say():
    page = words_of("accuracy-prediction.md")
    told, calibrated = [], {"protocol": "calibrated", "calibrated_on": "Syn1"}
    cot, norm = (
        [points(on_syn2(study, **calibrated)[method]) for study in DATA]
        for method in ("cot_fitted", "nuclear_norm")
    )
    told.append(f"COT has mean errors on Syn2 of {cot[0]} points on digits and {cot[1]} on photo")
    told.append(f"that on the nuclear norm of {norm[0]} and {norm[1]}.")
    differences = [paired(study, "cot_fitted", **calibrated) for study in DATA]
    told.append(
        " and ".join(interval_of(one.loc["nuclear_norm"], "difference") for one in differences)
    )
    lowest = on_syn2("digits-shifts", **calibrated).index[:3].tolist()
    assert lowest == ["cot_fitted", "ms_aol", "nuclear_norm"]
    every = kept("digits-shifts-differences", group="Syn2", **calibrated)
    beyond = every[every["difference_low"] > 0]
    told.append(f"{len(beyond)} of {len(every)} paired differences excludes 0")
    told.append(f"{(differences[1]['difference_low'] > 0).sum()} of {len(differences[1])} paired "
                "differences from COT exclude 0")  # fmt: skip
    rows = kept("digits-shifts", group="Syn2", **calibrated).dropna(subset="mae_unflagged")
    rows = rows[~rows["method"].isin(make_accuracy_page.LEFT_OUT)]
    higher = (rows["mae_unflagged"] > rows["mae"]).sum()
    told.append(f"errors of {higher} of {len(rows)} regressions are higher than in all.")
    assert set(kept("cifar10-shifts", group="PACS", **calibrated)["n_unflagged"]) == {0}
    told.append("On PACS, every case has a flagged regression")
    rises = re.findall(r"\(\+(\d\.\d)\)", make_accuracy_page.disjoint())
    told += [
        f"{said} {max(rises)} points" for said in ("No error rises by more than", "rise by at most")
    ]
    direct = kept("cifar10-shifts", protocol="direct", variant="")
    errors_of = on_syn2("cifar10-shifts", protocol="direct").dropna()
    assert errors_of.index[:2].tolist() == ["cott", "cot"]
    told.append(
        f"lowest errors*: {points(errors_of['cott'])} points and {points(errors_of['cot'])}"
    )
    bias = direct[direct["group"] == "Syn2"].set_index("method")["bias"].dropna()
    others = bias.drop(["cott", "cot"])
    told.append(f"overestimate, by {points(others.min())} to {points(others.max())} points")
    from_cott = paired("cifar10-shifts", "cott", protocol="direct")
    beyond = from_cott[from_cott["difference_low"] > 0]
    told.append(f"{len(beyond)} of {len(from_cott)} paired differences from COTT exclude 0")
    on_pacs = direct[direct["group"] == "PACS"].set_index("method")["mae"]
    three = [points(on_pacs[method]) for method in ("cott", "cot", "atc_mc")]
    told.append(f"ATC-MC, without one, have {min(three)} to {max(three)} points there")
    for study, data in DATA.items():
        views = kept(f"{study}-figures", protocol="leave_one_out", group="Syn2", variant="")
        means = views.pivot_table("mae", "method", "view")
        without = means[[view for view in means if view.startswith("without ")]]
        change = without.sub(means["all"], axis=0)
        ends = points(change.min().min()), points(change.max().max())
        told.append("{} to +{} points on".format(*ends) + f" {data}")
    rules = pd.read_csv(ROOT / "benchmarks" / "results" / "recommendation.csv")
    for _, rows in rules[rules["group"] == "all"].groupby("study", sort=False):
        taken, rest = (rows.iloc[i] for i in (0, 1))
        told += [
            f"in {taken['cases']:,} of {rows['cases'].sum():,}",
            f"{taken['mean_error']} points (90 % below {taken['error_90_percent']}; ",
            f"unchanged accuracy: {taken['unchanged']}); elsewhere",
            f"{rest['mean_error']}",
        ]
    (on_pacs,) = rules[rules["group"] == "PACS"].to_dict("records")
    assert on_pacs["recommended"] == "none"
    told.append(f"none of the {on_pacs['cases']} of PACS")
    scans = pd.read_csv(ROOT / "benchmarks" / "results" / "base_scans.csv").set_index("method")
    to_others = scans["fitted_to"] == "others"
    scans, fitted_to_others = scans[~to_others], scans[to_others]
    assert (scans.loc[["cot", "cott", "cot_fitted"], "low"] > 1).all()
    labels = load_digits().target[rows_of("known")]
    rng = np.random.default_rng(0)
    by_chance = np.mean([variation(rng.permutation(labels)) for _ in range(1000)])
    told.append(f"of the halves differ by {variation(labels):.0f} % (total variation), of random")
    told.append(f"halves by {by_chance:.0f} % on average")
    told += [
        "{own} and {others} points by COT".format(**scans.loc["cot"]),
        "{own} and {others} by COTT".format(**scans.loc["cott"]),
        "{own} and {others} by ATC-MC".format(**scans.loc["atc_mc"]),
        "by COT is {others} points in place of {own}".format(**scans.loc["cot_fitted"]),
        "by the nuclear norm {others} in place of {own}".format(**scans.loc["nuclear_norm"]),
        "that by COT is {others}".format(**fitted_to_others.loc["cot_fitted"]),
    ]
    assert [one for one in told if one not in page] == []


def test_errors_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(make_accuracy_page, "KEPT", tmp_path)
    found = predictions(SETS, ("calibrated", "linear", "Syn1"))
    of_groups = errors_of(found).query("subgroup == 'all'")
    of_groups.to_csv(tmp_path / "new.csv", index=False)
    shown = errors("new").splitlines()
    assert shown[2].startswith("| AC | 1.0 [1.0, 1.0] |")
