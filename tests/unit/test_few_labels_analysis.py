"""Labels drawn again and again in a study: against the public functions, by hand, coverage."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import matcheval as me
from drawings import draw
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError
from matcheval.few_labels.analysis import (
    SCHEMA,
    Design,
    interpolate_labels,
    plot,
    simulate,
    simulate_designs,
    tabulate,
)
from matcheval.predictions.layout import Layout
from studies import configuration, load

N = 300
pytestmark = pytest.mark.filterwarnings("ignore::matcheval.InputWarning")


def calibrated(seed=0, n=N):
    """Confidences, and predictions that are right as these say."""
    rng = np.random.default_rng(seed)
    f = rng.beta(6, 1, n)
    return f, (rng.random(n) < f).astype(float)


@pytest.mark.parametrize("design", list(Design))
def test_a_draw_is_what_the_public_functions_plan_and_estimate(design, tmp_path):
    f, y = calibrated()
    given = pd.DataFrame({"prediction": np.zeros(N, int), "probability": f})
    halves, holds, errors = [], [], []
    for seed in range(4):
        plan = me.label_plan(given, n=70, design=design.drawn, seed=seed)
        plan.save(tmp_path / str(seed))
        work = pd.read_csv(tmp_path / str(seed) / "worklist.csv")
        labels = {"index": work["index"], "label": (1 - y[work["index"]]).astype(int)}
        method = "hypergeometric" if design is Design.RANDOM else "auto"
        file = tmp_path / str(seed) / "plan.json"
        found = me.estimate_accuracy(given, labels, plan=file, method=method, classes=2)
        halves.append((found.upper - found.lower) / 2)
        holds.append(found.lower - 1e-9 <= y.mean() <= found.upper + 1e-9)
        errors.append(abs(found.estimate - y.mean()))
    expected = {
        "half_width": np.mean(halves), "coverage": np.mean(holds), "error": np.mean(errors)
    }  # fmt: skip
    assert simulate(design, f, y, 70, range(4), 0.95) == pytest.approx(expected)


def test_intervals_hold_the_accuracy_as_often_as_they_say():
    f, y = calibrated(3, 600)
    for design in Design:
        assert simulate(design, f, y, 120, range(400), 0.95)["coverage"] > 0.93
    assert simulate(Design.RANDOM, f, y, 120, range(400), 0.5)["coverage"] < 0.65


def test_the_number_for_a_half_width_is_that_of_normal_intervals():
    numbers, size = [50, 100, 200, 400], 1000
    widths = [math.sqrt(0.3 * (1 / n - 1 / size)) for n in numbers]
    for n in (50, 70, 200, 333, 400, 700, 999):
        assert interpolate_labels(numbers, widths, math.sqrt(0.3 * (1 / n - 1 / size)), size) == n
    assert interpolate_labels(numbers, widths, 1, size) == 50  # or fewer


def test_savings_are_against_random_labels():
    f, y = calibrated(1, 800)
    rows = pd.DataFrame(
        simulate_designs(f, y, [Design.MIXED], [50, 100, 200, 400], 0.03, range(50), 0.9)
    )
    needed = rows.groupby("design", sort=False)["labels_needed"].first()
    assert list(needed.index) == ["random", "mixed"]
    assert needed["mixed"] < needed["random"]
    assert rows["saving"].iloc[-1] == pytest.approx(1 - needed["mixed"] / needed["random"])
    assert not rows["is_bound"].any()
    wide = pd.DataFrame(simulate_designs(f, y, [Design.MIXED], [50], 0.4, range(3), 0.9))
    assert wide["is_bound"].all()
    planned = me.label_plan({"prediction": y, "probability": f}, half_width=0.03, level=0.9)
    by_design = planned.to_pandas().set_index("design")["planned"]
    assert rows["planned"].iloc[-1] == by_design["mixed"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Logits of two models, twice too large, on a base and on eight sets of two sizes."""
    folder = tmp_path_factory.mktemp("sets")
    names = ["base", *(f"set-{k}" for k in range(8))]
    for k, name in enumerate(names):
        rng = np.random.default_rng(k)
        logits = rng.normal(0, 2, (400 if k < 5 else 150, 3))
        chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        label = (rng.random(len(logits))[:, None] > np.cumsum(chance, axis=1)).sum(axis=1)
        for model in ("one", "two"):
            table = pd.DataFrame({"label": np.minimum(label, 2)})
            table[["logit_0", "logit_1", "logit_2"]] = 2 * logits
            table.to_csv(folder / f"{name}-{model}.csv", index=False)
    return SimpleNamespace(
        suite=Suite("s", tuple(map(Member, names))), base="base", models=("one", "two"),
        paths=lambda name: [str(folder / f"{name}-{model}.csv") for model in ("one", "two")],
        layout=lambda name: Layout(),
    )  # fmt: skip


OPTIONS = {
    "designs": ["control", "mixed"], "labels": [50, 100, 200], "repetitions": 5, "seed": 2
}  # fmt: skip


def test_tables_and_figures_of_many_sets(files):
    table = tabulate(files, **OPTIONS)
    SCHEMA.from_frame(table)
    assert len(table) == 2 * (4 * 3 + 4 * 2) * 3
    assert set(table["dataset"]) == {f"set-{k}" for k in range(8)}  # not the base
    assert table["temperature"].between(1.6, 2.5).all()
    one = table[table["dataset"] == "set-0"].iloc[0]
    assert table.equals(tabulate(files, **OPTIONS))
    assert not table.equals(tabulate(files, **OPTIONS | {"seed": 3}))
    figure = plot(table)
    draw(figure)
    (axes,) = figure.axes
    assert axes.lines[0].get_xdata().tolist() == [50, 100]  # 200 only some sets have
    of_random = table[(table["design"] == "random") & (table["labels"] == 50)]
    assert axes.lines[0].get_ydata()[0] == pytest.approx(100 * of_random["half_width"].median())
    few = SimpleNamespace(**vars(files) | {"suite": Suite("s", (Member("set-0"), Member("set-7")))})
    table = tabulate(few, **OPTIONS)
    assert table.iloc[0].equals(one)


SUITE = {"suites": {"s": {"members": ["digits-new-writers"]}}}
PARTS = {"s": {"members": [{"dataset": "digits-new-writers", "classes": ["1"]}]}}


@pytest.mark.parametrize(
    ("block", "suites", "message"),
    [
        ({"suites": {"new-writers": "digits-known"}, "pairs": ["new-writers"]},
         {"new-writers": SUITE["suites"]["s"]}, "is a pair, too"),
        ({"suites": {"s": "digits-known"}}, PARTS, "counts some classes"),
    ],
)  # fmt: skip
def test_settings_are_checked(block, suites, message):
    with pytest.raises(InputError, match=message):
        load(configuration("digits") | {"suites": suites, "few_labels": block})


def test_what_a_study_runs():
    assert load(configuration("digits")).analyses["few_labels"].targets == []
    block = {"pairs": ["new-writers"], "suites": {"s": "digits-known"}}
    analysis = load(configuration("digits") | SUITE | {"few_labels": block}).analyses["few_labels"]
    assert len(analysis.targets) == 2 * (4 + 2)
    of_pair, of_suite = (
        analysis.arguments(SimpleNamespace(collection=name))["files"]
        for name in ("new-writers", "s")
    )
    assert of_pair["suite"]["members"] == of_suite["suite"]["members"]
    assert of_pair["base"] == of_suite["base"] == "digits-known"
