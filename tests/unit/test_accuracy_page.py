"""The tables in docs/accuracy-prediction.md are those of the errors on file beside it."""

import make_accuracy_page
import pandas as pd
from make_accuracy_page import KEPT, errors
from take_over import take_over
from test_accuracy_differences import SETS
from test_accuracy_tables import errors_of, predictions

from studies import ROOT

# The largest rise of an error where calibration sets show other images, in points.
DISJOINT = {"digits-shifts": "0.5", "cifar10-shifts": "0.1"}
DATA = {"digits-shifts": "digits", "cifar10-shifts": "photographs"}


def test_the_page_is_made_by_its_script():
    page = (ROOT / "docs" / "accuracy-prediction.md").read_text(encoding="utf-8")
    assert take_over(page, errors) == page, "make accuracy-docs"
    assert "| DoC | 4.2 [3.3, 5.1] | 152.5 |" in errors("cifar10-shifts")


def kept(file, **chosen):
    """Rows of a CSV file in docs/accuracy/ that have these values."""
    found = pd.read_csv(KEPT / f"{file}.csv", keep_default_na=False, na_values={
        name: [""] for name in ("mae", "mae_unflagged", "bias", "difference_low", "difference_high")
    })  # fmt: skip
    for name, value in chosen.items():
        found = found[found[name] == value]
    return found


def points(value):
    return f"{100 * value:.1f}".replace("-", "−")


def test_sentences_tell_what_the_tables_say():
    page = " ".join((ROOT / "docs" / "accuracy-prediction.md").read_text("utf-8").split())
    told = []
    doc = kept("digits-shifts", method="doc", calibrated_on="Syn1", group="all").iloc[0]
    n, n_all = doc["n_unflagged"], doc["n_sets"] * doc["n_models"]
    told.append(f"in the {n} of {n_all} cases that no method flags, DoC has")
    told.append(f"{points(doc['mae_unflagged'])} points, in all cases {points(doc['mae'])}")
    on_syn2 = kept("digits-shifts", protocol="calibrated", calibrated_on="Syn1", group="Syn2")
    lowest = on_syn2[on_syn2["variant"] == ""].sort_values("mae")["method"]
    assert lowest.tolist()[:3] == ["cot_fitted", "ms_aol", "nuclear_norm"]
    told.append("COT, MS-AoL and the nuclear norm have the lowest mean errors")
    for study, bound in DISJOINT.items():
        other, same = (
            kept(f"{study}-disjoint", calibrated_on=fitted, group="Syn2").set_index(
                ["method", "variant"]
            )["mae"]
            for fitted in ("Syn1-others", "Syn1")
        )
        assert f"{(100 * (other - same)).max():.1f}" == bound
        told.append(f"no method's error on Syn2 rises by more than {bound} points")
        cot, norm = (points(other[name, ""]) for name in ("cot_fitted", "nuclear_norm"))
        told.append(f"{cot} and {norm}{' points' * (study == 'digits-shifts')} on {DATA[study]}")
    row = kept("cifar10-shifts-disjoint-differences", calibrated_on="Syn1-others",
               method_1="cot_fitted", method_2="nuclear_norm").iloc[0]  # fmt: skip
    low, high = points(row["difference_low"]), points(row["difference_high"])
    told.append(f"difference, {points(row['difference'])} [{low}, {high}], holds 0")
    direct = kept("cifar10-shifts", protocol="direct", variant="")
    on_syn2 = direct[direct["group"] == "Syn2"].set_index("method")["mae"].sort_values().dropna()
    assert on_syn2.index[:2].tolist() == ["cott", "cot"]
    told.append(f"lowest errors*: {points(on_syn2['cott'])} points and {points(on_syn2['cot'])} on")
    bias = direct[direct["group"] == "Syn2"].set_index("method")["bias"].dropna()
    others = bias.drop(["cott", "cot"])
    told.append(f"overestimate there, by {points(others.min())} to {points(others.max())} points")
    paired = kept("cifar10-shifts-differences", protocol="direct", method_1="cott")
    beyond = paired[paired["difference_low"] > 0]
    assert "atc_mc" in set(beyond["method_2"])
    told.append(f"{len(beyond)} of {len(paired)} paired differences from COTT exclude 0")
    on_pacs = direct[direct["group"] == "PACS"].set_index("method")["mae"][
        ["cott", "cot", "atc_mc"]
    ]
    bop = kept("cifar10-shifts", method="bop_js", calibrated_on="Syn1", group="PACS")["mae"].iloc[0]
    ends = points(on_pacs.min()), points(on_pacs.max())
    told.append(
        f"ATC-MC have {ends[0]} to {ends[1]} points; BoP+JS, lowest on Syn2, has {points(bop)}"
    )
    by_view = kept("cifar10-shifts-figures", protocol="leave_one_out", group="all", variant="")
    assert set(by_view["n_sets"]) == {100, 101}  # the same for all classes; 100 of 500 images
    means = by_view.pivot_table("mae", "method", "view")
    without = means[[view for view in means if view.startswith("without ")]]
    change = without.sub(means["all"], axis=0)
    least, most = change.min().min(), change.max().max()
    told.append(f"change by {points(least)} to +{points(most)} points")
    assert change.loc["cot", "without cat"] == most
    cot = means.loc["cot"]
    told.append(f"most, from {points(cot['all'])} to {points(cot['without cat'])}, that of COT")
    told.append(f"On 100 images of each set, COT's is {points(cot['n=100'])}")
    rules = pd.read_csv(ROOT / "benchmarks" / "results" / "recommendation.csv")
    for _, rows in rules.groupby("study", sort=False):
        taken, rest = (rows.iloc[i] for i in (0, 1))
        told += [
            f"in {taken['cases']:,} of {rows['cases'].sum():,}",
            f"{taken['mean_error']} points (90 % below {taken['error_90_percent']}); elsewhere",
            f"{rest['mean_error']}",
        ]
    assert [one for one in told if one not in page] == []


def test_errors_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(make_accuracy_page, "KEPT", tmp_path)
    found = predictions(SETS, ("calibrated", "linear", "Syn1"))
    of_groups = errors_of(found).query("subgroup == 'all'")
    of_groups.to_csv(tmp_path / "new.csv", index=False)
    shown = errors("new").splitlines()
    assert shown[2].startswith("| AC | 1.0 [1.0, 1.0] |")
