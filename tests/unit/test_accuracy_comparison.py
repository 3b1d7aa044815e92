"""Predicted beside matched gaps, against a literal computation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from matcheval.accuracy_prediction.gaps import GAPS, MEASURES, MIN_SETS, join, tabulate_comparison
from matcheval.accuracy_prediction.predicting import PREDICTED

SIZES = {"a": 9, "b": 8, "few": MIN_SETS - 1}  # sets of every model


def tables(seed=0):
    """Predictions of one method, and gaps, of models with some of nine sets each."""
    rng = np.random.default_rng(seed)
    sets = [(model, f"set-{number}") for model, n in SIZES.items() for number in range(n)]
    gaps = pd.DataFrame(sets, columns=["model", "dataset"]).assign(suite="s", gap_se=0.01)
    gaps["gap"], base = rng.uniform(0, 0.5, len(gaps)), rng.uniform(0.8, 1, len(gaps))
    for measure in MEASURES:
        gaps[measure] = gaps["gap"] * rng.uniform(0.5, 1.5, len(gaps))
    predicted = gaps.assign(
        method="ac", variant="", seed=0, view="all", protocol="direct", regressor="",
        calibrated_on="", accuracy_base=base, accuracy=base - gaps["gap"],
        predicted=base - gaps["gap"] * rng.uniform(0.2, 1.2, len(gaps)),
    )  # fmt: skip
    predicted = pd.concat([predicted, predicted.assign(view="n=100", predicted=0.0)])
    return predicted.reindex(columns=PREDICTED.names), gaps.reindex(columns=GAPS.names)


def test_gaps_are_joined_on_whole_sets_of_models_that_have_gaps():
    predicted, gaps = tables()
    joined = join(predicted, gaps[gaps["model"] != "b"])
    assert len(joined) == SIZES["a"] + SIZES["few"]
    assert set(joined["view"]) == {"all"}
    wanted = predicted.query("view == 'all' and model == 'a'")
    own = joined[joined["model"] == "a"]
    np.testing.assert_allclose(own["predicted_gap"], wanted["accuracy_base"] - wanted["predicted"])
    np.testing.assert_allclose(own["underestimated"], wanted["predicted"] - wanted["accuracy"])


def partial(x, y, given):
    """Correlation of the ranks of x and y without what a line through those of `given` explains."""
    ranks = [rankdata(each) for each in (x, y, given)]
    residuals = [each - np.polyval(np.polyfit(ranks[2], each, 1), ranks[2]) for each in ranks[:2]]
    if min(map(np.linalg.norm, residuals)) < 1e-6:  # nothing is left
        return np.nan
    return np.corrcoef(*residuals)[0, 1]


@pytest.mark.parametrize("measure", MEASURES)
def test_correlations_and_intervals_by_loops(measure):
    joined = join(*tables()).assign(group="g")
    joined["subgroup"] = "of three: " + (joined["dataset"].str[-1].astype(int) // 3).astype(str)
    found = tabulate_comparison(joined, 0.9, resamples=40).set_index("measure").loc[measure]
    models = [joined[joined["model"] == name].reset_index() for name in ("a", "b")]
    assert found["n_models"] == 2
    assert found["n_sets"] == 9

    def means(choose):
        values = []
        for model in models:
            rows = model.iloc[choose(len(model))]
            error, value, gap = rows["underestimated"], rows[measure], rows["gap"]
            values.append([spearmanr(error, value).statistic, partial(error, value, gap)])
        known = np.isfinite(values)
        with np.errstate(invalid="ignore"):  # of no model
            return np.where(known, values, 0).sum(axis=0) / known.sum(axis=0)

    whole = means(np.arange)
    assert found["with_error"] == pytest.approx(whole[0])
    assert found["given_gap"] == pytest.approx(whole[1])
    with_gap = [spearmanr(m["predicted_gap"], m[measure]).statistic for m in models]
    assert found["with_gap"] == pytest.approx(np.mean(with_gap))
    by_model = joined.assign(e=joined["underestimated"].abs()).groupby("model")["e"].mean()
    assert found["mae"] == pytest.approx(by_model.mean())
    drawn = [
        np.concatenate([3 * unit + np.arange(3) for unit in row])
        for row in np.random.default_rng(0).integers(3, size=(40, 3))
    ]
    resampled = [means(lambda n, row=row: row[row < n]) for row in drawn]
    for name, values in zip(("with_error", "given_gap"), np.transpose(resampled), strict=True):
        low, high = np.nanquantile(values, [0.05, 0.95])
        assert found[f"{name}_low"] == pytest.approx(low, abs=1e-9)
        assert found[f"{name}_high"] == pytest.approx(high, abs=1e-9)
