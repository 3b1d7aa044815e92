"""What goes with accuracies of generalised models: scores, distances, numbers of images."""

import numpy as np
import pandas as pd
import pytest

from matcheval.accuracy_prediction.scores.outputs import pooled
from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.domain_generalization.results import (
    add_scores,
    tabulate_image_counts,
    tabulate_near_far,
    tabulate_predictability,
)
from matcheval.errors import InputError
from matcheval.inference.outputs import RunningStatistics
from studies import digit_domains, load


def statistics_of(features, softmax):
    running = RunningStatistics()
    for rows in np.array_split(np.arange(len(features)), min(3, len(features))):
        running.add(features[rows], softmax[rows])
    return running.result()


def test_statistics_of_several_sets_are_those_of_their_union():
    """A sum of squares would lose all digits at a mean of 10⁵ times the deviation."""
    rng = np.random.default_rng(0)
    features = (1e5 + rng.normal(size=(30, 4))).astype(np.float32)
    softmax = rng.dirichlet(np.ones(3), 30)
    whole = statistics_of(features, softmax)
    cuts = [slice(0, 1), slice(1, 11), slice(11, 30)]
    parts = pooled([statistics_of(features[cut], softmax[cut]) for cut in cuts])
    assert parts.n == 30
    for name in ("feature_mean", "feature_covariance", "softmax_mean", "softmax_gram"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-7)
    expected = np.cov(features.T.astype(np.float64))
    np.testing.assert_allclose(whole.feature_covariance, expected, rtol=1e-9)


SETS = {
    "p": (0.9, 100, "near"),
    "q": (0.7, 300, "near"),
    "r": (0.5, 50, "far"),
    "s": (0.3, 60, "x"),
}
GAINS = {"p": -0.02, "q": 0.0, "r": 0.04, "s": 0.06}  # SD helps far from the sources


def runs():
    """A block with ERM and SD, two seeds, four sets, and two selections that are the same."""
    return pd.DataFrame(
        [
            {
                "design": "", "block": "one", "n_sources": 1, "selection": selection,
                "algorithm": algorithm, "same_as_erm": False, "seed": seed, "group": 0,
                "model": f"{algorithm}-{seed}", "dataset": name, "column": column, "n": n,
                "accuracy": accuracy + 0.01 * seed + (GAINS[name] if algorithm == "sd" else 0),
            }
            for selection in ("default", "oracle")
            for algorithm in ("erm", "sd")
            for seed in (0, 1)
            for name, (accuracy, n, column) in SETS.items()
        ]
    )  # fmt: skip


def scores():
    """ERM's nuclear norm is on a line with its accuracy, SD's is not; ERM's distance falls."""
    rows = []
    for each in runs().drop_duplicates(["model", "dataset"]).to_dict("records"):
        on_line = {"p": 4.0, "q": 3.0, "r": 2.0, "s": 1.0}[each["dataset"]]
        crossed = {"p": 4.0, "q": 3.0, "r": 1.0, "s": 2.0}[each["dataset"]]
        values = {
            "nuclear_norm": on_line if each["algorithm"] == "erm" else crossed,
            "frechet_reference": 10 - on_line,
        }
        common = {key: each[key] for key in ("model", "dataset", "n", "accuracy")}
        common |= {"suite": "t", "view": "all", "variant": "", "accuracy_base": 0.9}
        rows += [common | {"method": method, "score": value} for method, value in values.items()]
    return pd.DataFrame(rows).reindex(columns=SCORES.names)


def test_scores_on_a_line_predict_without_error():
    table = tabulate_predictability(add_scores(runs(), scores()), 0.95)
    assert len(table) == 2 * 2 * 2  # selection, algorithm, method
    found = table[(table.selection == "default") & (table.method == "nuclear_norm")]
    erm, sd = (found[found.algorithm == name].iloc[0] for name in ("erm", "sd"))
    assert (erm.spearman, erm.mae, erm.mae_gain) == pytest.approx((1, 0, 0), abs=1e-9)
    assert sd.spearman == pytest.approx(0.8)  # 1 - 6 (1 + 1) / (4 (16 - 1))
    assert sd.mae_gain == pytest.approx(sd.mae)
    assert (erm.n_sets, erm.n_runs) == (4, 2)


def test_gains_far_from_the_sources():
    scored = add_scores(runs(), scores())
    (row, _) = tabulate_near_far(runs(), scored).to_dict("records")
    assert (row["algorithm"], row["n_sets"]) == ("sd", 4)
    assert (row["spearman"], row["kendall"]) == pytest.approx((1, 1))
    assert row["pearson"] == pytest.approx(np.corrcoef([6, 7, 8, 9], list(GAINS.values()))[0, 1])
    without = scored[scored.method != "frechet_reference"]
    assert len(tabulate_near_far(runs(), without)) == 0


def test_numbers_of_images_and_accuracies():
    """Groups have 400, 50 and 60 images, and ERM's accuracies fall: of three pairs, two agree."""
    table = tabulate_image_counts(runs())
    row = table[table.algorithm == "erm"].iloc[0]
    assert (row.n_columns, row.n_images) == (3, 510)
    assert (row.kendall, row.spearman) == pytest.approx((1 / 3, 0.5))


def test_scores_that_are_refused():
    config = digit_domains()
    config["domain_generalization"]["scores"] = {"algorithms": ["coral"]}
    with pytest.raises(InputError, match=r"'nuclear_norm' needs .*Add logits or statistics"):
        load(config)
