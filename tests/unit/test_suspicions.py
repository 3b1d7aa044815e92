"""What is valid and yet looks wrong: warned of, or refused where it cannot be meant."""

import dataclasses

import numpy as np
import pytest

from helpers import simulate, written
from matcheval.accuracy_prediction.output_files import OutputFiles, read_user_file
from matcheval.cli.main import main
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.inference.forward import ModelPass
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import write_predictions
from matcheval.predictions.softmax import softmax
from matcheval.predictions.suspicions import repeats_warning, suspicions
from matcheval.protocol.comparisons import Comparison, suspicions_of

N, K = 400, 10
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(N, K)).astype(np.float32)
LABELS = RNG.integers(0, K, N)
LOGITS[np.arange(N), np.where(RNG.random(N) < 0.9, LABELS, 0)] += 6
PREDICTED, CONFIDENCES = LOGITS.argmax(1), softmax(LOGITS).max(1)
OF_K = {"n_classes": str(K)}


class TestDoubleSoftmax:
    def test_logits_that_are_probabilities_are_refused(self, tmp_path):
        path = written(tmp_path / "p.npz", {"labels": LABELS, "logits": softmax(LOGITS)})
        for read in (read_predictions, read_user_file):
            with pytest.raises(InputError, match=r"sum to 1: these are prob.*Name them 'probabil"):
                read(path)

    def test_a_model_that_ends_in_a_softmax_is_refused(self):
        class Set:
            name, n_classes = "digits", K

        model = ModelPass.__new__(ModelPass)
        model._name, model._dataset = "mine", Set()
        model._check_logits(LOGITS, 0)
        with pytest.raises(InputError, match=r"mine: its outputs on digits.*Return logits"):
            model._check_logits(softmax(LOGITS), 0)

    def test_of_probabilities_alone_it_is_told(self):
        twice = softmax(softmax(LOGITS))
        (told,) = suspicions(LABELS, PREDICTED, twice.max(1), OF_K)
        assert "no probability is above 0.23" in told
        assert "was the softmax taken twice" in told
        assert suspicions(LABELS, PREDICTED, CONFIDENCES, OF_K) == []


class TestOtherScores:
    """Of a thousand classes, a probability is above 0.001; a rounded one may be 0.00."""

    N, K = 10_000, 1000
    LABELS = np.random.default_rng(1).integers(0, K, N)
    P = np.random.default_rng(2).normal(size=(N, K)).astype(np.float32)
    P[np.arange(N), LABELS] += np.random.default_rng(3).normal(5, 2, N)
    P = softmax(2 * P)
    SORTED = np.sort(P, axis=1)
    TRUE, TOP = P[np.arange(N), LABELS], SORTED[:, -1]
    SCORES = {
        "is it the probability of the true class": TRUE,
        "such as a margin": TOP - SORTED[:, -2],
        "is it an uncertainty": 1 - TOP,
    }

    def told(self, confidences, rows=slice(None), **metadata):
        predicted = self.P[rows].argmax(axis=1)
        return suspicions(self.LABELS[rows], predicted, np.float32(confidences[rows]), metadata)

    @pytest.mark.parametrize("metadata", [{}, {"n_classes": "1000"}])
    def test_of_a_thousand_classes(self, metadata):
        for what, scores in self.SCORES.items():
            assert any(what in text for text in self.told(scores, **metadata)), what
        for right in (self.TOP, np.float16(self.TOP), self.TOP.round(2), self.TOP.round(3)):
            assert self.told(right, **metadata) == []


class TestRepeats:
    ROWS = {"label": LABELS, "prediction": PREDICTED, "probability": CONFIDENCES}

    def test_what_is_no_repeat(self):
        twice = {k: np.repeat(v, 2) for k, v in self.ROWS.items()}
        some = twice["label"].copy()
        some[7] = (some[7] + 1) % K
        sure, rounded = np.ones(2 * N), twice["probability"].round(2)
        for changed in ({"label": some}, {"probability": sure}, {"probability": rounded}):
            assert repeats_warning(twice | changed) == []
        assert repeats_warning(self.ROWS) == []
        assert repeats_warning({k: v[:40] for k, v in twice.items()}) == []


class TestLabels:
    @pytest.mark.parametrize(("shift", "what"), [(1, "are labels"), (-1, "are predictions")])
    def test_one_off(self, shift, what):
        told = suspicions(LABELS + shift, PREDICTED, CONFIDENCES, {})
        assert len(told) == 1
        assert f"{what} counted from 1" in told[0]

    def test_what_is_no_other_order(self):
        (told,) = suspicions(np.sort(LABELS), PREDICTED, CONFIDENCES, {})
        assert "(the labels are sorted)" in told
        # Of a few datapoints and without labels nothing is said.
        assert suspicions(LABELS[:49] + 1, PREDICTED[:49], CONFIDENCES[:49], OF_K) == []
        assert suspicions(None, PREDICTED, CONFIDENCES, OF_K) == []
        swapped = np.where(LABELS == 3, 5, np.where(LABELS == 5, 3, LABELS))
        (told,) = suspicions(swapped, PREDICTED, CONFIDENCES, OF_K)
        assert told.startswith("classes 3, 5 are mostly predicted for each other")


PAIR = Pair("p", "old", "new")


def compared(old, new, **metadata):
    changed = dataclasses.replace(new, metadata={**new.metadata, **metadata})
    return Comparison("m", PAIR, old, changed)


class TestPairs:
    OLD, NEW = simulate(300, 5, 1), simulate(100, 5, 2)

    def test_what_is_told(self):
        assert suspicions_of(compared(self.OLD, self.NEW)) == []
        assert "compared with itself" in suspicions_of(compared(self.OLD, self.OLD))[0]
        shifted = {name: getattr(self.NEW, name) + 5 for name in ("label", "prediction")}
        (told,) = suspicions_of(compared(self.OLD, dataclasses.replace(self.NEW, **shifted)))
        assert told == "no label occurs in both sets; labels are 0 to 4 and 5 to 9"


MODEL = {
    "model": "m", "weights_sha256": "aa", "dtype": "float32", "classes": '["a", "b"]',
    "transform": "resize 256; uint8 / 255",
}  # fmt: skip


class TestOneName:
    def test_two_models_under_one_name(self):
        old = dataclasses.replace(TestPairs.OLD, metadata=MODEL)
        for key, other in {"dtype": "bfloat16", "transform": "resize 224; uint8 / 255"}.items():
            with pytest.raises(InputError, match=f"'{key}'.* and {other} in those on new"):
                compared(old, TestPairs.NEW, **MODEL | {key: other})
        compared(old, TestPairs.NEW, model="m")  # what only one file tells is no difference
        # Pixel ranges of datasets may differ.
        compared(old, TestPairs.NEW, **MODEL | {"transform": "resize 256; uint8 / 16"})

    def test_across_the_sets_of_a_suite(self, tmp_path):
        """Every file of a model is compared with the first one; the second model is one."""
        for dataset, weights in (("base", "aa"), ("near", "aa"), ("far", "bb")):
            (tmp_path / dataset).mkdir()
            for model in "mn":
                metadata = {"weights_sha256": weights if model == "m" else "cc"}
                p = TestPairs.OLD.probability
                p = p if model == "m" else p * np.float32(0.99)  # equal ones would be a copy
                found = dataclasses.replace(TestPairs.OLD, metadata=metadata, probability=p)
                write_predictions(found, tmp_path / dataset / f"{model}.parquet")
        names = ("base", "near", "far")
        custom = {d: {m: tmp_path / d / f"{m}.parquet" for m in "mn"} for d in names}
        files = OutputFiles({}, (), custom, dict.fromkeys(names, Layout()))
        for name in ("base", "near"):
            for model in "nm":
                files.read(name, model)
        with pytest.raises(InputError, match=r"is aa in the .* on base, and bb in those on far"):
            files.read("far", "m")


class TestCommandLine:
    @pytest.fixture
    def files(self, tmp_path):
        files = [str(tmp_path / f"{name}.csv") for name in "ab"]
        for i, file in enumerate(files):
            write_predictions(simulate(300 - 100 * (i > 0), 5, i), file)
        return files

    def test_compare_warns(self, files, tmp_path, caplog, undrawn):
        out = str(tmp_path / "out")
        main(["compare", files[0], files[0], "--seeds", "2", "--output", out])
        assert "warning: both sets hold the same predictions" in caplog.text
        assert "compared with itself?" in (tmp_path / "out" / "summary.md").read_text()
        main(["compare", *files[:2], "--seeds", "2", "--epsilon", "1e-12"])
        assert "of the targets are unmatched by" in caplog.text

    def test_equal_highest_scores_are_counted(self, tmp_path, caplog, undrawn):
        """Of logits that are rounded and cut off; the lowest of the classes is the prediction."""
        logits = np.minimum(np.round(LOGITS), 3)
        logits[0, [3, 7]] = 99
        files = []
        for name, columns in {"old": logits, "new": logits[:200]}.items():
            path = tmp_path / f"{name}.npz"
            files.append(str(written(path, {"labels": LABELS[: len(columns)], "logits": columns})))
        n_tied = int((np.sort(logits)[:, -2] == logits.max(1)).sum())
        told = f"old: {n_tied} of 400 rows have two equal highest scores; the lowest of these"
        assert n_tied > 2
        main(["compare", *files, "--seeds", "2", "--output", str(tmp_path / "out")])
        assert told in (tmp_path / "out" / "summary.md").read_text()
        assert f"warning: {told}" in caplog.text
        assert read_predictions(files[0]).prediction[0] == 3
