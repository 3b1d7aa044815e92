"""Predicted beside matched gaps against a literal computation; parts of sets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from matcheval.accuracy_prediction.gaps import GAPS, MEASURES, MIN_SETS, join, tabulate_comparison
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.accuracy_prediction.scoring import Views

SIZES = {"a": 9, "b": 8, "few": MIN_SETS - 1}  # sets of every model


def tables(seed=0):
    """Predictions of one method, and gaps, of models with some of nine sets each."""
    rng = np.random.default_rng(seed)
    predicted, gaps = [], []
    for model, n in SIZES.items():
        for number in range(n):
            gap, base = rng.uniform(0, 0.5), rng.uniform(0.8, 1)
            of_set = {"model": model, "suite": "s", "base": "base", "dataset": f"set-{number}"}
            parts = {name: gap * rng.uniform(0.5, 1.5) for name in MEASURES}
            gaps.append({**of_set, "gap": gap, "gap_se": 0.01, "share_matched": 0.5, **parts})
            for view in ("all", "n=100"):
                predicted.append(
                    {
                        **of_set, "method": "ac", "variant": "", "seed": 0, "view": view,
                        "protocol": "direct", "regressor": "", "calibrated_on": "",
                        "accuracy_base": base, "accuracy": base - gap,
                        "predicted": base - gap * rng.uniform(0.2, 1.2),
                    }
                )  # fmt: skip
    return tuple(
        pd.DataFrame(rows).reindex(columns=schema.names)
        for rows, schema in ((predicted, PREDICTED), (gaps, GAPS))
    )


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


def test_a_measure_that_follows_the_gap_alone_tells_nothing_about_the_error():
    predicted, gaps = tables()
    gaps["matched_gap"] = gaps["gap"] ** 3
    joined = join(predicted, gaps).assign(group="", subgroup="")
    found = tabulate_comparison(joined, resamples=5).set_index("measure")
    assert found.loc["matched_gap", "with_gap"] > 0
    assert np.isnan(found.loc["matched_gap", "given_gap"])


LABELS = np.array([0, 0, 1, 1, 1, 2])
CLASSES = ("ape", "bee", "cow", "dog")  # no dog is in the set


def outputs(seed=0):
    rng = np.random.default_rng(seed)
    return Outputs(LABELS, rng.integers(0, 3, 6), rng.uniform(size=6), features=np.eye(6))


def parts(views, target, name="set"):
    (whole, *found) = views.parts(target, name, CLASSES)
    assert whole == ("all", 0, None)
    return [(view, draw, target.rows(rows)) for view, draw, rows in found]


def test_random_parts_are_those_of_the_set_and_the_same_for_all_models():
    views = Views(test_sizes=(2, 4, 6), draws=3)
    one, other = (parts(views, outputs(seed)) for seed in (0, 1))
    assert [view[:2] for view in one] == [(f"n={n}", d) for n in (2, 4) for d in range(3)]
    for (*_, a), (*_, b) in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.features, b.features)  # which rows
        assert len(np.unique(a.features.argmax(axis=1))) == len(a)  # without replacement
    assert len({part.features.tobytes() for view, _, part in one if view == "n=2"}) > 1
    renamed = parts(views, outputs(), "another")
    assert any((a[2].features != b[2].features).any() for a, b in zip(one, renamed, strict=True))


def test_missing_classes_are_those_of_the_set_singly_and_in_pairs():
    found = {view: part for view, _, part in parts(Views(missing_classes="pairs"), outputs())}
    sizes = {view.removeprefix("without "): len(part) for view, part in found.items()}
    assert sizes == {"ape": 4, "bee": 3, "cow": 5, "ape+bee": 1, "ape+cow": 3, "bee+cow": 2}
    assert not (found["without bee"].labels == 1).any()
    several = dataclasses.replace(outputs(), labels=np.stack([LABELS, [-1, -1, 2, -1, -1, -1]], 1))
    singles = parts(Views(missing_classes="singles"), several)
    assert {view: len(part) for view, _, part in singles} == {
        "without ape": 4, "without bee": 3, "without cow": 4,
    }  # fmt: skip
