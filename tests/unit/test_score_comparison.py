"""Uncertainty scores by hand, the ranks they are matched on, and what is missing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from scipy.special import softmax

from compared import BOTH
from helpers import matched_gap
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.analyses import score_comparison
from matcheval.analyses.score_comparison import (
    AS_IS,
    RANKS,
    ClassMeans,
    Uncertainty,
    compute_score,
    majority_vote,
    tabulate,
)
from matcheval.datasets.suites import Pair
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import ComparedModels, PairFiles
from matcheval.protocol.comparisons import GroupSource
from matcheval.protocol.no_warning import no_warning_reference
from matcheval.protocol.settings import Score
from studies import configuration, load

P = np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])


class TestScores:
    def test_by_hand(self):
        assert score_comparison.margin(P).tolist() == pytest.approx([0.5, 0, 1, 0])
        entropy = -(0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1))
        found = score_comparison.certainty(P)
        assert found[[0, 2, 3]].tolist() == pytest.approx([1 - entropy / np.log(3), 1, 0])
        assert (found >= 0).all()
        energies = score_comparison.energy(np.array([[0.0, 0.0], [1000.0, 0.0]]))
        assert energies.tolist() == pytest.approx([np.log(2), 1000])

    def test_votes(self):
        majority, share = majority_vote(
            [np.array([2, 1, 0]), np.array([2, 0, 1]), np.array([0, 2, 1])]
        )
        assert majority.tolist() == [2, 0, 1]  # the lowest class of three that tie
        assert share.tolist() == pytest.approx([2 / 3, 1 / 3, 2 / 3])
        assert majority_vote([np.array([3]), np.array([1])])[0].tolist() == [1]

    def test_temperature_and_what_is_missing(self):
        logits = np.log(P + 1e-9).astype(np.float32)
        outputs = Outputs(None, P.argmax(1), P.max(1), logits=logits, probabilities=P)
        confidence = P.max(1).astype(np.float32)
        scaled = compute_score(Uncertainty.TEMPERATURE, outputs, confidence, 2.0)
        np.testing.assert_allclose(scaled, softmax(np.float64(logits) / 2, axis=1).max(1))
        missing = compute_score(Uncertainty.TEMPERATURE, outputs, confidence, None)
        assert "no validation data" in missing
        assert compute_score(Uncertainty.CONFIDENCE, outputs, confidence, None) is confidence
        without = replace(outputs, logits=None)
        assert "no logits on file" in compute_score(Uncertainty.ENERGY, without, confidence, 1.0)

    def test_distance_to_the_nearest_class_mean(self):
        rng = np.random.default_rng(1)
        labels = np.repeat([0, 2, -1], [40, 60, 5])  # 2 is the second class; the last is unknown
        features = rng.normal(0, [1, 5], (105, 2)).astype(np.float32) + 9 * labels[:, None]
        known = Outputs(labels, labels, P.max(1), features=features)
        fitted = ClassMeans.fit(known)
        means = [features[labels == k].mean(axis=0) for k in (0, 2)]
        within = np.vstack([features[:40] - means[0], features[40:100] - means[1]])
        inverse = np.linalg.inv(np.cov(within.T))
        found = compute_score(Uncertainty.CLASS_MEANS, known, P.max(1), None, fitted)
        nearest = [-min(mahalanobis(point, m, inverse) for m in means) for point in features]
        assert found == pytest.approx(nearest, 1e-5)
        assert ClassMeans.fit(replace(known, labels=None)) is None
        missing = compute_score(
            Uncertainty.CLASS_MEANS, replace(known, features=None), P, None, fitted
        )
        assert "inference.outputs" in missing


def write(folder, name, n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 2, (n, 3))
    labels = (rng.random((n, 1)) > softmax(values, axis=1).cumsum(1)).sum(1)
    path = folder / f"{name}.npz"
    np.savez(path, labels=labels, logits=2 * values)
    return path


def read(files) -> ComparedModels:
    """Models "m0", "m1", ... of prediction files by origin."""
    layouts, groups = dict.fromkeys(files, Layout()), dict.fromkeys(files, GroupSource())
    models = [f"m{i}" for i in range(len(files["original"]))]
    return PairFiles(
        Pair("p", "a", "b"), models, **files, layouts=layouts, matchings=BOTH, seeds=(0, 1),
        groups=groups,
    ).read()  # fmt: skip


@pytest.fixture
def known(tmp_path):
    sets = {"original": (300, 3), "replication": (200, 7)}
    return read({o: [write(tmp_path, f"{o}{i}", *of) for i in range(2)] for o, of in sets.items()})


class TestTable:
    def test_confidence_is_that_of_the_protocol(self, known):
        table = tabulate(known)
        score_comparison.SCHEMA.from_frame(table)
        lost = max(known.comparisons, key=lambda one: one.gap)
        assert lost.gap > 0  # else there is no reference
        for scale, score in ((RANKS, Score.CONFIDENCE_RANK), (AS_IS, Score.CONFIDENCE)):
            for name, method in BOTH.items():
                chosen = (table.score == "confidence") & (table.scale == scale)
                row = table[chosen & (table.matching == name) & (table.model == lost.model)].iloc[0]
                same = method.model_copy(update={"score": score})
                gap = matched_gap(lost, same, (0, 1))
                assert row.matched_gap == pytest.approx(gap.mean)
                assert row.fraction_unmatched == pytest.approx(1 - gap.share_matched)
                reference = no_warning_reference(lost, same).columns
                for column in ("same_size_narrowing", "reference_narrowing", "excess_narrowing"):
                    assert row[column] == reference[column]

    def test_all_scores_on_ranks_and_the_bounded_ones_as_they_are(self, known):
        table = tabulate(known)
        of_one = table[(table.model == "m0") & (table.matching == "probability")]
        assert of_one[of_one.scale == RANKS].score.tolist() == [
            "confidence", "margin", "entropy", "energy", "temperature", "class_means"
        ]  # fmt: skip
        assert "energy" not in set(of_one[of_one.scale == AS_IS].score)
        scaled = table[table.score == "temperature"]
        assert scaled.matched_gap.isna().all()
        assert scaled.reason.str.contains("no validation data").all()
        rows = table[table.reason == ""]
        parts = rows.confidence_part + rows.conditional_part
        np.testing.assert_allclose(parts, rows.gap, atol=1e-12)
        assert len(score_comparison.plot(table).axes) == 4

    def test_a_temperature_is_fitted(self, known, tmp_path):
        file = write(tmp_path, "v", 2000, 8)
        validation = {m: {"path": file, "layout": {}} for m in ("m0", "m1")}
        table = tabulate(known, validation=validation)
        scaled = table[table.score == "temperature"]
        # Logits on file are twice those that the labels were drawn from.
        assert scaled.temperature.between(1.7, 2.3).all()
        assert scaled.matched_gap.notna().all()

    def test_an_ensemble_is_matched_on_its_votes(self, known):
        table = tabulate(known, ensembles={"both": ["m0", "m1"]})
        rows = table[table.model == "both"]
        assert set(rows.score) == {"vote_share"}
        assert rows.reason.eq("").all()
        row = rows[(rows.matching == "probability") & (rows.scale == AS_IS)].iloc[0]
        assert row.fraction_unmatched == 0  # as members vote alike
        assert row.gap == pytest.approx(table.gap.iloc[0])


def test_models_are_run_on_the_sets_that_scores_are_fitted_on():
    block = {"pairs": ["new-writers"], "validation": "digits-validation"}
    block["class_means"] = "digits-train"
    study = load(configuration("digits") | {"score_comparison": block})
    assert {"digits-validation", "digits-train"} <= set(study.evaluated)
    of_pair = type("W", (), {"pair": "new-writers"})
    options = study.analyses["score_comparison"].subject_options(of_pair)
    assert [set(options[name]) for name in ("validation", "class_means")] == [set(study.models)] * 2
