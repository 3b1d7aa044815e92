"""Two models on the same images, and `--fail-if`, on numbers that are worked out by hand."""

import re

import numpy as np
import pandas as pd
import pytest

import matcheval as me
from helpers import error_of, printed, simulate
from matcheval.api.comparison import describe
from matcheval.cli.main import main
from matcheval.cli.options import Condition
from matcheval.predictions.records import write_predictions

# Right: both 2 times, the first alone 3 times, the second alone once, neither 2 times.
LABELS = ["cat"] * 8
FIRST = ["cat", "cat", "cat", "cat", "cat", "dog", "dog", "dog"]
SECOND = ["cat", "cat", "dog", "dog", "emu", "cat", "dog", "emu"]
SURE = [0.9, 0.9, 0.7, 0.9, 0.8, 0.6, 0.9, 0.5]


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Files of the two models; rows of the second are in another order."""
    monkeypatch.chdir(tmp_path)
    names = [f"{letter}.png" for letter in "abcdefgh"]
    table = pd.DataFrame({"file_name": names, "label": LABELS})
    table.assign(prediction=FIRST, probability=0.75).to_csv("old.csv", index=False)
    second = table.assign(prediction=SECOND, probability=SURE)
    second.sample(frac=1, random_state=1).to_csv("new.csv", index=False)
    return ["old.csv", "new.csv"]


class TestCompareModels:
    def test_worked_numbers(self, models):
        result = me.compare_models(*models)
        assert (result.first, result.second, result.n) == ("old", "new", 8)
        assert (result.accuracy_first, result.accuracy_second) == (5 / 8, 3 / 8)
        counts = result.both_right, result.only_first, result.only_second, result.both_wrong
        assert counts == (2, 3, 1, 2)
        assert result.p == pytest.approx(2 * (1 + 4) / 16)  # of 4 tosses, at most 1
        # Three differences of 1, one of -1, four of 0: variance 0.5, standard error 0.25.
        bounds = result.difference.value, result.difference.low, result.difference.high
        assert bounds == pytest.approx((0.25, 0.25 - 1.96 * 0.25, 0.25 + 1.96 * 0.25))

    def test_the_most_confident_wrong_one_is_first(self, models):
        table = me.compare_models(*models).to_pandas("datapoints", all=True)
        # Of h.png, where both are wrong, the first is more confident: 0.75.
        assert table["datapoint"].tolist() == ["d.png", "e.png", "f.png", "h.png", "c.png"]
        assert table["wrong"].tolist() == ["second", "second", "first", "both", "second"]
        assert table["wrong_probability"].tolist() == pytest.approx([0.9, 0.8, 0.75, 0.75, 0.7])
        assert table.loc[3, ["label", "first", "second"]].tolist() == ["cat", "dog", "emu"]

    def test_groups_are_what_is_sampled(self, models):
        tables = [pd.read_csv(name).sort_values("file_name") for name in models]
        result = me.compare_models(*(t.assign(group=list("aabbccdd")) for t in tables))
        # Sums of groups less their means of 0.5: -0.5, 1.5, -0.5, -0.5; 3 degrees of freedom.
        error = (4 / 3 * (3 * 0.5**2 + 1.5**2)) ** 0.5 / 8
        assert result.difference.high == pytest.approx(0.25 + 3.182446 * error)

    def test_other_datapoints_are_refused_and_equal_predictions_noticed(self, models):
        one = pd.read_csv("old.csv")
        with pytest.raises(me.InputError, match="of a: index 7 has label 1, not 0"):
            me.compare_models(one, one.assign(label=[*LABELS[:7], "dog"]), names=("a", "first"))
        with pytest.warns(me.InputWarning, match="compared with itself"):
            result = me.compare_models(one, one)
        assert np.isnan(result.difference.low)
        assert result.to_pandas("datapoints").empty


def difference(only_first, only_second, n=40, **options):
    """Two models on n images, of which some are right by one alone."""
    label = np.arange(n) % 2
    sets = []
    for wrong in (slice(0, only_second), slice(only_second, only_second + only_first)):
        prediction = label.copy()
        prediction[wrong] = 1 - prediction[wrong]
        of_set = {"label": label, "prediction": prediction, "probability": np.linspace(0.6, 0.9, n)}
        sets.append(of_set | options)
    return me.compare_models(*sets)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
@pytest.mark.parametrize(
    ("only", "strength"),
    [((4, 0), "suggested"), ((6, 0), "established"), ((1, 0), "inconclusive")],
)
def test_no_surer_than_the_exact_test(only, strength):
    """Of 4 : 0, the interval excludes 0, and p = 0.125; of 6 : 0, p = 0.031."""
    assert difference(*only).verdict.startswith(strength)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
def test_the_interval_of_groups_is_taken_once():
    """Student's factor widens it already: an interval that excludes 0 establishes."""
    for n_groups, strength in ((12, "established"), (9, "suggested")):
        found = difference(11, 0, group=np.arange(40) % n_groups)
        assert found.difference.low > 0
        assert found.verdict.startswith(strength)


class TestFailIf:
    def test_limits_are_in_points(self, models, capsys, caplog):
        compare = ["compare-models", *models, "--fail-if"]
        for condition in ("difference > 25", "accuracy-second < 37.5"):
            main([*compare, condition])
        for condition in ("difference>=25", "difference-low < -23.9", "accuracy-second <= 37.5"):
            caplog.clear()
            error_of(capsys, 3, *compare, condition)
            assert "old and new" in caplog.text

    def test_a_percentage_is_not_above_itself(self):
        assert 100 * 0.07 > 7
        assert not Condition.parse("gap > 7", ["gap"]).is_met(100 * 0.07)

    def test_what_is_not_defined_fails(self, models, capsys, caplog):
        compare = ["compare-models", "old.csv", "old.csv"]
        printed(capsys, *compare, "--fail-if", "difference-high < -99", code=3)
        assert "difference-high is not defined, which counts" in caplog.text

    def test_any_model_fails_by_either_criterion(self, tmp_path, monkeypatch, capsys, caplog):
        monkeypatch.chdir(tmp_path)
        for name, accuracy in (("good", 0.9), ("bad", 0.5)):
            label = np.arange(400) % 5
            write_predictions(simulate(400, 5, 1, label=label), tmp_path / f"{name}-old.csv")
            new = simulate(400, 5, 2, accuracy=accuracy, label=label)
            write_predictions(new, tmp_path / f"{name}-new.csv")
        compare = ["compare", "{model}-old.csv", "{model}-new.csv", "--seeds", "2"]
        found = printed(capsys, *compare)["models"]
        gaps = {c: {row["model"]: 100 * row["matched_gap"] for row in found[c]} for c in found}
        by_first, by_second = (gaps[c]["bad"] for c in ("label_probability", "probability"))
        assert by_first != by_second
        for named, value in (("", by_first), (":probability", by_second)):
            caplog.clear()
            main([*compare, "--fail-if", f"matched-gap{named} > {value + 0.01:.2f}"])
            error_of(capsys, 3, *compare, "--fail-if", f"matched-gap{named} > {value - 0.01:.2f}")
            assert re.findall(r"\((\w+)\)$", caplog.text, re.MULTILINE) == ["bad"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("seeds", "are_too_few"), [(3, True), (300, False)])
def test_too_few_seeds_are_told(seeds, are_too_few):
    """Where random picks move the mean by more than a tenth of the half-width of the interval."""

    def table(n, seed, **options):
        sets = simulate(n, 5, seed, label=np.arange(n) % 5, **options)
        return {name: getattr(sets, name) for name in ("label", "prediction", "probability")}

    old = {"a": table(600, 1), "b": table(600, 2)}
    new = {"a": table(300, 3, accuracy=0.7), "b": table(300, 4, accuracy=0.7)}
    result = me.compare(old, new, criteria="probability", seeds=seeds)
    spread = (result.to_pandas("accuracies", all=True)["matched_gap_sem"] ** 2).sum() ** 0.5 / 2
    gap = result.gaps["probability"].matched_gap
    excess = spread / ((gap.high - gap.low) / 20)
    words = " ".join(describe(result, full=True).split())
    told = re.search(r"varies by ([\d.]+) points .* about ([\d,]+) seeds bring it", words)
    assert bool(told) == (excess > 1) == are_too_few
    if told:
        assert told.groups() == (f"{100 * spread:.2f}", f"{np.ceil(seeds * excess**2):.0f}")
