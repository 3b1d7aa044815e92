"""Predicted accuracies of single files: the function, and the command `predict-accuracy`."""

import dataclasses
import math
from functools import partial
from zlib import crc32

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from test_accuracy_regression import interval

from helpers import told_json
from matcheval.accuracy_prediction.estimation import DIRECT, choose_methods, estimate_accuracies
from matcheval.accuracy_prediction.predicting import FLAGGED
from matcheval.accuracy_prediction.scores.confidence import BRACKET
from matcheval.accuracy_prediction.scores.outputs import from_logits
from matcheval.accuracy_prediction.scores.score import NO_SPREAD
from matcheval.cli.main import main
from matcheval.errors import InputError


def logits_of(n, seed, shift=0.0, n_classes=5):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += 3 - shift
    return logits, labels


def outputs(n, seed, shift=0.0):
    return from_logits(*logits_of(n, seed, shift))


def foreign(one):
    return dataclasses.replace(one, labels=one.labels + 500)


def lean(one):
    return dataclasses.replace(one, logits=None, probabilities=None)


def by_method(table, target=None):
    rows = [row for row in table.to_pylist() if target in (None, row["target"])]
    return {row["method"] + (f":{row['variant']}" if row["variant"] else ""): row for row in rows}


BASE, TARGET = outputs(600, 0), outputs(300, 1, shift=1.5)
CALIBRATION = [outputs(250, 10 + i, shift=i / 2) for i in range(5)]


def estimated(*names, calibration=(), n_resamples=0, target=TARGET):
    """Rows on one set by method, of those named."""
    table = estimate_accuracies(
        BASE, [("t", target)], methods=choose_methods(names), calibration=calibration,
        n_resamples=n_resamples,
    )  # fmt: skip
    return by_method(table)


class TestPredictions:
    def test_direct_methods_by_hand(self):
        found = estimated()
        assert tuple(found) == DIRECT
        assert found["ac"]["predicted"] == pytest.approx(TARGET.confidences.mean())
        limit = np.sort(BASE.confidences)[int((~BASE.correct).sum())]
        assert found["atc_mc"]["predicted"] == (TARGET.confidences >= limit).mean()
        row = found["ac"]
        assert row["error"] == abs(row["predicted"] - TARGET.accuracy)
        assert (row["n"], row["n_base"], row["n_fitted"]) == (300, 600, 0)

    def test_regressed_methods_are_fitted_on_the_further_sets(self):
        found = estimated("doc", "entropy", calibration=CALIBRATION)
        doc = [BASE.confidences.mean() - one.confidences.mean() for one in (*CALIBRATION, TARGET)]
        gaps = [BASE.accuracy - one.accuracy for one in CALIBRATION]
        line = np.polyval(np.polyfit(doc[:-1], gaps, 1), doc[-1])
        assert found["doc"]["predicted"] == pytest.approx(BASE.accuracy - line)
        entropy = [one.entropies.mean() for one in (*CALIBRATION, TARGET)]
        line = np.polyfit(entropy[:-1], [one.accuracy for one in CALIBRATION], 1)
        assert found["entropy"]["predicted"] == pytest.approx(np.polyval(line, entropy[-1]))
        assert found["doc"]["n_fitted"] == 5

    def test_regressed_methods_have_intervals_over_sets_and_over_groups(self):
        sets = [outputs(250, 20 + i, shift=i / 8) for i in range(12)]
        scores = np.array([np.mean(outputs.entropies) for outputs in sets])
        truth = np.array([outputs.accuracy for outputs in sets])
        groups = list("aabbccddeeff")
        table = estimate_accuracies(
            BASE, [("t", TARGET)], methods=choose_methods(["entropy", "doc", "ac"]),
            calibration=sets, groups=groups, n_resamples=0,
        )  # fmt: skip
        row, gap, direct = table.to_pylist()
        new = TARGET.entropies.mean()
        for name, units in (("sets", None), ("groups", np.arange(12) // 2)):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            assert ends == pytest.approx(interval(scores, truth, new, units))
        assert (row["n_groups"], direct["n_groups"]) == (6, 0)
        assert gap["sets_low"] < gap["predicted"] < gap["sets_high"]
        assert math.isnan(direct["sets_low"])

    def test_what_is_missing_is_named_and_no_row_dropped(self):
        reasons = {
            "ac": "", "ac_temperature": "needs logits", "atc_ne": "needs probabilities",
            "doc": "needs a regression: give", "frechet": "needs features",
            "rotation": "needs images",
        }  # fmt: skip
        targets, methods = [("t", lean(TARGET))], choose_methods(list(reasons))
        found = by_method(estimate_accuracies(lean(BASE), targets, methods=methods))
        assert list(found) == list(reasons)
        for name, reason in reasons.items():
            assert found[name]["reason"].startswith(reason)
            assert math.isnan(found[name]["predicted"]) == (name != "ac")

    def test_flags(self):
        assert estimated("doc", calibration=[TARGET] * 3)["doc"]["reason"] == FLAGGED
        certain = dataclasses.replace(TARGET, confidences=np.ones(300))
        names = ("base_accuracy", "ac", "doc", "nuclear_norm")
        found = estimated(*names, target=certain, calibration=[certain, *CALIBRATION])
        assert [row["reason"] for row in found.values()] == ["", NO_SPREAD, NO_SPREAD, ""]
        # The score of a set to fit on that has none is not counted.
        assert [row["n_fitted"] for row in found.values()] == [0, 0, 5, 6]
        row = estimated("doc", calibration=[certain] * 3)["doc"]
        assert row["reason"] == f"its score is defined on 0 sets to calibrate on: {NO_SPREAD}"


class TestIntervals:
    def test_of_means_they_are_those_of_theory(self):
        found = estimated("ac", "doc_feat", n_resamples=2_000)
        terms = {
            "ac": [TARGET.confidences],
            "doc_feat": [TARGET.confidences, BASE.correct - BASE.confidences],
        }
        for name, sums in terms.items():
            error = math.sqrt(sum(np.var(values) / len(values) for values in sums))
            low, high = found[name]["predicted_low"], found[name]["predicted_high"]
            assert high - low == pytest.approx(2 * 1.96 * error, rel=0.08)
            assert (low + high) / 2 == pytest.approx(found[name]["predicted"], abs=0.2 * error)

    def test_means_of_values_are_resampled_and_their_line_is_fitted_again(self):
        names = ("cot", "cot_fitted")
        widths = []
        for target in (TARGET, TARGET.rows(np.tile(np.arange(300), 60))):
            found = estimated(*names, target=target, calibration=CALIBRATION, n_resamples=200)
            widths += [row["predicted_high"] - row["predicted_low"] for row in found.values()]
        direct, fitted, direct_big, fitted_big = widths
        assert direct_big == pytest.approx(direct / math.sqrt(60), rel=0.3)
        assert fitted_big > 3 * direct_big  # what the sets to calibrate on leave uncertain
        assert fitted > fitted_big

    def test_temperature_is_fitted_to_each_resample(self):
        """As by an optimiser that knows nothing of the other resamples; few differ widely."""
        n_base, n, values = 12, 40, []
        base = BASE.rows(np.arange(n_base))
        for b in range(n):
            drawn, chosen = (
                np.random.default_rng([0, b, stream]).integers(len(one), size=len(one))
                for one, stream in ((base, 0), (TARGET, 1 + crc32(b"t")))
            )

            def loss(log, drawn=drawn):
                scores = log_softmax(base.logits[drawn] / np.exp(log), axis=1)
                return -scores[range(n_base), base.labels[drawn]].mean()

            bounds = tuple(np.log(BRACKET))
            found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-8})
            scaled = softmax(TARGET.logits[chosen] / np.exp(found.x), axis=1)
            values.append(scaled.max(axis=1).mean())
        (row,) = estimate_accuracies(
            base, [("t", TARGET)], methods=choose_methods(["ac_temperature"]), n_resamples=n
        ).to_pylist()
        bounds = [row["predicted_low"], row["predicted_high"]]
        assert bounds == pytest.approx(np.percentile(values, (2.5, 97.5)), abs=1e-6)

    def test_sets_to_calibrate_on_are_drawn_independently(self):
        """Eight of each, with one resample for all of them, would be as good as one of each."""
        base, target = (one.rows(np.tile(np.arange(len(one)), 60)) for one in (BASE, TARGET))

        def width(calibration):
            (row,) = estimate_accuracies(
                base, [("t", target)], methods=choose_methods(["doc"]), calibration=calibration,
                n_resamples=40,
            ).to_pylist()  # fmt: skip
            return row["predicted_high"] - row["predicted_low"]

        assert width(CALIBRATION * 8) < 0.6 * width(CALIBRATION)

    def test_they_depend_on_seed_and_name_only(self):
        other = ("u", outputs(100, 3))
        estimate = partial(estimate_accuracies, BASE, methods=choose_methods(), n_resamples=20)
        alone = estimate([("t", TARGET)])
        again = by_method(estimate([other, ("t", TARGET)]), "t")
        np.testing.assert_equal(again, by_method(alone))  # what is not defined, too
        for another in (estimate([("t", TARGET)], seed=1), estimate([("u", TARGET)])):
            assert another["predicted"] == alone["predicted"]
            assert another["predicted_low"] != alone["predicted_low"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": [("t", foreign(TARGET))]}, "label 504 of 't' is not of .* 5 classes"),
        ({"calibration": [*CALIBRATION, foreign(TARGET)]}, "label 504 of set 6 to calibrate"),
        ({"base": dataclasses.replace(BASE, confidences=np.ones(600))}, "all confidences on"),
    ],
)
def test_it_is_named(change, message):
    with pytest.raises(InputError, match=message):
        estimate_accuracies(
            **{"base": BASE, "targets": [("t", TARGET)], "methods": choose_methods()} | change
        )


def test_files_of_equal_names_are_told_apart(tmp_path, capsys):
    """By `predict-accuracy`; targets have no labels."""
    (tmp_path / "other").mkdir()
    base, photos, copy = (str(tmp_path / f"{n}.npz") for n in ("base", "photos", "other/photos"))
    logits, labels = logits_of(400, 0)
    np.savez(base, logits=logits, labels=labels)
    for target in (photos, copy):
        np.savez(target, logits=logits_of(200, 1, 1)[0])
    main(["predict-accuracy", base, photos, copy, "--methods", "ac", "--json"])
    rows = told_json(capsys.readouterr().out)["recommendations"]
    assert [row["target"] for row in rows] == ["photos", copy]
