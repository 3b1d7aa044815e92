"""Accuracy from few labels: invariants, plans, commands, refusals, known cases."""

import dataclasses
import inspect
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matcheval as me
from helpers import error_of, printed
from matcheval.few_labels.draws import DESIGNS, allocate, draw, make_strata
from matcheval.few_labels.estimators import (
    betting_cs,
    difference_set,
    hypergeometric,
    ppr_cs,
    stratified,
)
from matcheval.statistics.intervals import mcnemar
from vectors import VECTORS

N = 400
SEEDS = st.integers(0, 10_000)


def simulated(seed=0, n=N, accuracy=None):
    """Confidences, and whether predictions are right: with the confidence, or a given chance."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.4, 1, n)
    return f, (rng.random(n) < (f if accuracy is None else accuracy)).astype(float)


class TestInvariants:
    @pytest.mark.parametrize("accuracy", [0.0, 0.8, 1.0])
    def test_all_labels_give_the_accuracy(self, accuracy):
        f, y = simulated(1, 60, accuracy)
        part = make_strata(f)
        means = np.bincount(part, f) / np.bincount(part)
        found = [
            difference_set(y, f, f), hypergeometric(int(y.sum()), 60, 60),
            stratified(y, part, np.bincount(part), f=f, f_mean=means),
        ]  # fmt: skip
        for one in found:
            assert (one.lower, one.upper) == pytest.approx((y.mean(), y.mean()))
        for sequence in (ppr_cs(y, 60), betting_cs(y, 60, f=f, f_all_mean=f.mean())):
            assert (sequence.lower[-1], sequence.upper[-1]) == (y.mean(), y.mean())
            assert (np.diff(sequence.lower) >= 0).all()
            assert (np.diff(sequence.upper) <= 0).all()
            assert not sequence.is_broken

    @given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.floats(0, 1), SEEDS)
    @settings(max_examples=40, deadline=None)
    def test_allocations_sum_to_n_within_sizes(self, sizes, share, seed):
        least = sum(min(2, one) for one in sizes)
        n = least + round(share * (sum(sizes) - least))
        sds = np.random.default_rng(seed).random(len(sizes))
        for tau in (0.0, 0.5, 1.0):
            found = allocate(sizes, n, sds, tau=tau)
            assert found.sum() == n
            assert (found <= sizes).all()
            assert (found >= np.minimum(2, sizes)).all()

    def test_an_improbable_order_leaves_no_accuracy(self):
        assert ppr_cs([0] * 40 + [1] * 40, 80).is_broken


@pytest.mark.parametrize("design", DESIGNS)
def test_every_beginning_keeps_the_shares_and_a_pilot_stays(design):
    f, _ = simulated()
    differs = f < 0.8
    small = draw(design, f, 60, 3, differs)
    large = draw(design, f, 150, 3, differs, small)
    assert len(set(large.rows.tolist())) == len(large.rows)
    assert large.rows[: len(small.rows)].tolist() == small.rows.tolist()
    assert small.rows.tolist() != draw(design, f, 60, 4, differs).rows.tolist()
    if design == "disagreement":
        assert differs[large.rows].all()
    assert (len(small.rows), len(large.rows)) == (60, 150)
    half = np.bincount(small.stratum[:30], minlength=len(small.sizes))
    whole = np.bincount(small.stratum, minlength=len(small.sizes))
    assert np.abs(half - whole / 2).max() <= 1.5


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Predictions of two models on images with names, without labels, and the true classes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    f, right = simulated()
    truth = rng.integers(0, 3, N)
    names = np.array(["cat", "dog", "emu"])
    table = pd.DataFrame({"file_name": [f"{i:03}.png" for i in range(N)]})
    first = np.where(right == 1, truth, (truth + 1) % 3)
    second = np.where(rng.random(N) < 0.15, rng.integers(0, 3, N), first)
    for name, predicted in (("a", first), ("b", second)):
        found = table.assign(prediction=names[predicted], probability=f.round(4))
        found.to_csv(f"{name}.csv", index=False)
    return {"truth": names[truth], "first": first == truth, "second": second == truth}


def labelled(folder, truth, n=None, **changes):
    """The labels of a worklist, of the first n rows."""
    table = pd.read_csv(f"{folder}/worklist.csv")
    table["label"] = [*truth[table["index"][:n]], *([""] * (len(table) - len(table[:n])))]
    table = table.assign(**{"status": ""} | changes)
    table.to_csv("labels.csv", index=False)
    return table


PLANNED = ["--labels", "labels.csv", "--plan", "p/plan.json"]
ESTIMATE = ["estimate-accuracy", "a.csv", *PLANNED]


class TestCommands:
    def test_from_a_plan_to_an_estimate_by_a_pilot(self, files, capsys):
        printed(capsys, "label-plan", "a.csv", "--n", "50", "--output", "p")
        labelled("p", files["truth"])
        found = printed(capsys, *ESTIMATE)
        assert found["lower"] < files["first"].mean() < found["upper"]
        assert (found["method"], found["guarantee"]) == ("stratified", "approximate")
        more = printed(
            capsys, "label-plan", "a.csv", "--half-width", "4", "--pilot", "labels.csv",
            "--plan", "p/plan.json", "--output", "q",
        )  # fmt: skip
        assert more["n_done"] == 50 < more["n_labels"] == more["n_needed"]
        table = pd.read_csv("q/worklist.csv")
        assert table["status"].tolist()[:50] == ["done"] * 50
        assert table["label"][50:].isna().all()
        labelled("q", files["truth"])
        wide = found["upper"] - found["lower"]
        found = printed(capsys, *ESTIMATE[:4], "--plan", "q/plan.json")
        assert found["upper"] - found["lower"] < 0.09 < wide
        assert "a pilot decided" in " ".join(found["warnings"])

    @pytest.mark.parametrize(
        ("design", "method"), [("random", "difference_set"), ("mixed", "stratified")]
    )
    def test_the_interval_of_the_population_is_wider(self, files, capsys, design, method):
        printed(capsys, "label-plan", "a.csv", "--n", "120", "--design", design, "--output", "p")
        labelled("p", files["truth"])
        found, population = (
            printed(capsys, *ESTIMATE, "--estimand", estimand) for estimand in ("set", "population")
        )
        assert found["method"] == population["method"] == method
        assert found["lower"] < files["first"].mean() < found["upper"]
        assert population["upper"] - population["lower"] > found["upper"] - found["lower"]

    def test_auto_follows_the_counts_and_watch_stops(self, files, capsys):
        printed(capsys, "label-plan", "a.csv", "--n", "200", "--design", "random", "--output", "p")
        table = labelled("p", files["truth"], 20)
        few = printed(capsys, *ESTIMATE)
        assert (few["method"], few["guarantee"]) == ("hypergeometric", "exact")
        k = int(files["first"][table["index"][:20]].sum())
        expected = hypergeometric(k, 20, N)
        assert (few["lower"], few["upper"]) == (expected.lower, expected.upper)
        watch = [*ESTIMATE, "--watch", "10"]
        assert printed(capsys, *watch, code=3)["stopped_at"] is None
        labelled("p", files["truth"])
        stopped = printed(capsys, *watch)
        assert stopped["guarantee"] == "anytime"
        assert 20 < stopped["stopped_at"] < 200

    def test_gaps_and_undecided_labels(self, files, capsys):
        printed(capsys, "label-plan", "a.csv", "--n", "60", "--design", "random", "--output", "p")
        table = labelled("p", files["truth"])
        table.loc[50, "label"] = ""
        table.loc[[3, 7], "status"] = "skip"
        table.to_csv("labels.csv", sep=";", index=False, encoding="utf-8-sig")
        found = printed(capsys, *ESTIMATE)
        assert (found["n_labelled"], found["n_skipped"]) == (50, 2)
        assert "9 labels come after a gap" in " ".join(found["warnings"])
        decided, ends = table[:50].assign(status=""), []
        right = pd.read_csv("a.csv")["prediction"][table["index"]][:50].array
        for other in (np.where(right == "cat", "dog", "cat"), right):  # all wrong, or all right
            decided["label"] = np.where(decided.index.isin([3, 7]), other, decided["label"])
            ends.append(me.estimate_accuracy("a.csv", decided, plan="p/plan.json"))
        watched = [
            me.estimate_accuracy("a.csv", labels, plan="p/plan.json", half_width=0.2).stopped_at
            for labels in (decided, table[:50])
        ]
        assert watched[0] < watched[1]
        assert found["lower"] == pytest.approx(min(one.lower for one in ends))
        assert found["upper"] == pytest.approx(max(one.upper for one in ends))

    def test_two_models_need_labels_only_where_they_differ(self, files, capsys):
        plan = printed(capsys, "label-plan", "a.csv", "b.csv", "--half-width", "1", "--output", "p")
        assert plan["design"] == "disagreement"
        table = labelled("p", files["truth"])
        differs = pd.read_csv("a.csv")["prediction"] != pd.read_csv("b.csv")["prediction"]
        assert differs[table["index"]].all()
        found = printed(capsys, "estimate-accuracy", "a.csv", "b.csv", *PLANNED)
        truth = files["first"].mean() - files["second"].mean()
        assert found["lower"] - 1e-12 <= truth <= found["upper"] + 1e-12
        assert found["n_disagree"] == differs.sum()
        assert found["mcnemar_p"] == pytest.approx(0.0059, abs=1e-4)  # of 27 tosses, at most 6

    def test_the_first_model_may_be_wrong_wherever_they_differ(self, tmp_path):
        """Of two classes, its prediction of the row before is then right more often."""
        label = np.arange(400) // 2 % 2
        new = {"prediction": label, "probability": 0.9 + 0 * label}
        old = new | {"prediction": np.where(np.arange(400) % 4 == 1, 1 - label, label)}
        old["prediction"][:200] = 1 - label[:200]
        me.label_plan(old, new, n=80).save(tmp_path)
        rows = pd.read_csv(tmp_path / "worklist.csv")["index"]
        labels = {"index": rows, "label": label[rows]}
        found = me.estimate_difference(old, new, labels, plan=tmp_path / "plan.json")
        assert found.only_first == 0 < found.only_second

    def test_labels_on_which_models_agree_leave_room_for_others(self):
        """Of 30 labels, no model alone has one right: up to 12 % may be so, not 0.00 to 0.00."""
        rng = np.random.default_rng(0)
        label, p = rng.integers(10, size=3000), rng.uniform(0.97, 1, 3000)
        predicted = [np.where(rng.random(3000) < 0.005, (label + 1) % 10, label) for _ in "ab"]
        tables = [pd.DataFrame({"prediction": one, "probability": p}) for one in predicted]
        agree = np.flatnonzero((tables[0].prediction == label) & (tables[1].prediction == label))
        few = pd.DataFrame({"index": agree[:30], "label": label[agree[:30]]})
        with pytest.warns(me.InputWarning, match="your word"):
            found = me.estimate_difference(*tables, few, assume_random=True)
        assert found.estimate == pytest.approx(0, abs=1e-3)
        assert found.lower == pytest.approx(-0.116, abs=0.002)
        assert found.upper == pytest.approx(0.116, abs=0.002)

    def test_a_gap_to_a_set_whose_labels_are_known(self, files, capsys):
        # Of a class that the set lacks, as classes are those that occur in its own files.
        old = pd.DataFrame({"label": ["cat"] * 9 + ["ant"], "prediction": ["cat"] * 9 + ["dog"]})
        old.assign(probability=0.9).to_csv("old.csv", index=False)
        printed(capsys, "label-plan", "a.csv", "--n", "60", "--output", "p")
        labelled("p", files["truth"])
        found = printed(capsys, *ESTIMATE, "--original", "old.csv")
        gap = found["gap"]
        assert gap["estimate"] == pytest.approx(0.9 - found["estimate"])
        assert gap["lower"] == pytest.approx(0.9 - found["upper"])  # the original is exact

    def test_classes_and_files_named_by_digits(self, files):
        """In files of labels 00000 is a name; a gap in a column of numbers makes 1 to 1.0."""
        named = {"prediction": ["01", "00000"] * 10, "probability": 0.9}
        given = pd.DataFrame(named | {"file": [f"{i:04d}" for i in range(20)]})
        given.to_csv("named.csv", index=False)
        Path("few.csv").write_text("file,label\n0002,01\n0003,00000\n0005,NaN\n0004,00000\n")
        options = {"assume_random": True, "classes": ["01", "00000"]}
        with pytest.warns(me.InputWarning):
            found = me.estimate_accuracy(given, "few.csv", **options)
        expected = hypergeometric(2, 3, 20)
        assert (found.n_labelled, found.exact.lower) == (3, expected.lower)
        numbers = {"prediction": [1, 0] * 10, "probability": 0.9}
        Path("few.csv").write_text("index,label\n0,1.0\n1,\n002,1.0\n")
        with pytest.warns(me.InputWarning):
            of_numbers = me.estimate_accuracy(pd.DataFrame(numbers), "few.csv", assume_random=True)
        assert of_numbers.n_labelled == 2

    def test_a_base_calibrates(self, files, capsys):
        rng = np.random.default_rng(3)
        labels = rng.integers(0, 3, 300)
        logits = rng.normal(size=(300, 3)) + 1.5 * np.eye(3)[labels]
        np.savez("base.npz", labels=labels, logits=3 * logits)  # overconfident
        np.savez("target.npz", logits=3 * logits)
        plan = ["label-plan", "target.npz", "--n", "60", "--output", "p", "--base", "base.npz"]
        printed(capsys, *plan)
        assert 2 < json.loads(Path("p/plan.json").read_text())["temperature"] < 4
        labelled("p", labels)
        found = printed(capsys, "estimate-accuracy", "target.npz", *PLANNED)
        assert found["lower"] < (logits.argmax(1) == labels).mean() < found["upper"]


class TestErrors:
    @pytest.fixture(autouse=True)
    def plan(self, files, capsys):
        printed(capsys, "label-plan", "a.csv", "--n", "60", "--output", "p")
        labelled("p", files["truth"])

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"label": "cow"}, "'label': row 0 (from 0): 'cow' is no class of the set"),
            ({"index": 3}, "'index': row 1 (from 0): '3' occurs twice"),
        ],
    )
    def test_labels(self, files, capsys, changes, message):
        labelled("p", files["truth"], **changes)
        assert message in error_of(capsys, 1, *ESTIMATE)

    def test_rows_that_are_counted_from_1_are_noticed(self):
        table = pd.read_csv("a.csv")
        labels = {"index": np.arange(1, 31), "label": table["prediction"][:30]}
        with pytest.raises(me.InputError, match="rows are counted from 1"):
            me.estimate_accuracy(table, labels, assume_random=True)

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (ESTIMATE[:4], "how the labels were drawn is not known"),
            ([*ESTIMATE, "--watch", "10"], "after every label is for random labels"),
            ([*ESTIMATE, "--method", "ppr_cs"], "not for labels drawn by the design 'mixed'"),
            (["label-plan", "a.csv", "--output", "p"], "may hold labels"),
        ],
    )
    def test_how_labels_were_drawn(self, capsys, command, message):
        assert message in error_of(capsys, 1, *command)

    def test_a_stratum_without_labels_names_what_to_label(self, files, capsys):
        labelled("p", files["truth"], 5)
        assert "Label index " in error_of(capsys, 1, *ESTIMATE)

    def test_a_plan_that_was_changed(self, capsys):
        plan = Path("p/plan.json")
        plan.write_text(plan.read_text().replace('"seed": 0', '"seed": 1'))
        assert "plan.json" in error_of(capsys, 1, *ESTIMATE)

    def test_groups_are_not_taken_as_independent(self, files):
        table = pd.read_csv("a.csv").assign(group=np.arange(N) // 10)
        labels = {"index": range(30), "label": files["truth"][:30]}
        with pytest.raises(me.InputError, match="come in groups"):
            me.estimate_accuracy(table, labels, assume_random=True)
        with pytest.raises(me.InputError, match="come in groups"):
            me.estimate_accuracy(table, "labels.csv", plan="p/plan.json", estimand="population")
        with pytest.warns(me.InputWarning, match="come in groups"):
            assert me.label_plan(table, n=60).n_labels == 60


def warned(folder, f, y, n):
    """The warnings of an estimate from n labels of a plan."""
    new = {"prediction": np.zeros(len(f), int), "probability": f}
    me.label_plan(new, n=n, design="mixed").save(folder)
    rows = pd.read_csv(folder / "worklist.csv")["index"]
    labels = {"index": rows, "label": (1 - y[rows]).astype(int)}
    found = me.estimate_accuracy(new, labels, plan=folder / "plan.json", classes=2)
    return " ".join(found.warnings)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
class TestDoubtfulIntervals:
    """Where simulations found intervals to miss the accuracy, the warning names what protects."""

    def test_errors_among_the_most_confident(self, tmp_path):
        f, y = simulated(2, 1000, 0.84)
        inverted = y.copy()
        inverted[np.argsort(f)] = np.sort(y)[::-1]
        assert "most confident" in warned(tmp_path / "inverted", f, inverted, 200)
        assert "most confident" not in warned(tmp_path / "useless", f, y, 200)

    def test_errors_that_stand_for_no_unlabelled_datapoint(self, tmp_path):
        """30 of 300 are wrong, the least confident: all of them are labelled, and tell nothing."""
        f = np.linspace(0.05, 1, 300)
        y = (np.arange(300) >= 30).astype(float)
        sharp = np.where(np.arange(300) < 60, 0.5, 0.9999)
        assert "only 0 errors" in warned(tmp_path / "sharp", sharp, y, 180)
        assert "stand for" not in warned(tmp_path / "few", f, y, 80)


PATH = VECTORS / "few_labels.json"
MODULES = ("estimators", "draws", "plans")
OTHERS = {"wilson", "ppi", "active", "inclusion_probabilities", "lure"}
# What the cases call results that are plain numbers or arrays here.
PLAIN = {
    "make_strata": "stratum", "allocate": "n", "labels_for_variance": "n", "labels_needed": "n",
    "labels_for_clopper_pearson": "n", "pilot_variance_upper": "variance",
}  # fmt: skip
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"] if PATH.is_file() else []
OURS = [case for case in CASES if case["function"] not in OTHERS]


def function(name):
    modules = [import_module(f"matcheval.few_labels.{module}") for module in MODULES]
    return next(getattr(module, name) for module in modules if hasattr(module, name))


@pytest.mark.skipif(
    not CASES, reason=f"no test vectors at {PATH}; MATCHEVAL_SHARED names the folder above spec/"
)
@pytest.mark.parametrize("case", OURS, ids=lambda case: case["name"])
def test_case(case):
    name, inputs, expected = case["function"], dict(case["inputs"]), dict(case["outputs"])
    call = function(name)
    half_width = inputs.pop("half_width", None) if "stop" in expected else None
    known = inspect.signature(call).parameters
    inputs = {k: v for k, v in inputs.items() if v is not None or k in known}
    if "error" in expected:
        with pytest.raises(ValueError, match=r"\w"):
            call(**inputs)
        return
    result = call(**inputs)
    found = {PLAIN[name]: result} if name in PLAIN else dataclasses.asdict(result)
    if "stop" in expected:
        found["stop"] = result.stop(half_width)
    if name == "disagreement_difference":
        found["mcnemar_p"] = mcnemar(inputs["d"].count(1), inputs["d"].count(-1))
    if name == "plan_variances":
        expected = {key: expected[key] for key in ("control", "mixed_control")}
    if expected.pop("basis", None):  # no label: the confidences only
        assert np.isnan(found["se"])
    for key, value in expected.items():
        if value is None:
            assert found[key] is None, key
        else:
            numbers = np.asarray(value, np.float64)
            assert found[key] == pytest.approx(numbers, rel=0, abs=case["tolerance"]), key
