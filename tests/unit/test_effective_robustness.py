"""Effective robustness: by hand, against separate fits, coverage, what is refused, and figures."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri

from drawings import draw
from helpers import accuracies
from matcheval.analyses import effective_robustness as analysis
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_call
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TABLE_SUFFIXES
from matcheval.predictions.correctness import Correctness, dataset_accuracies
from matcheval.statistics.lines import Scale, percentile_interval
from matcheval.statistics.robustness import draw_accuracies, effective_robustness
from published import needs_data, results, study
from studies import load


def set_of(fractions, n=1000):
    """Accuracies of models on a set of n datapoints."""
    return accuracies({model: round(n * a) for model, a in fractions.items()}, n)


def fit_of(new, *bases, scale=Scale.LINEAR, chosen=None, n=1000, right=None, resamples=200):
    """The columns of models with these accuracies, perhaps known image by image."""
    accuracy = np.array([new, *bases], np.float64)
    chosen = np.ones(len(new), bool) if chosen is None else np.array(chosen)
    right, n = right or [None] * len(accuracy), np.broadcast_to(n, accuracy.shape)
    drawn = draw_accuracies(accuracy, n, right, resamples=resamples, seed=3)
    is_shared = np.array([one is not None for one in right])
    return effective_robustness(accuracy, drawn, is_shared, chosen, scale, seed=3, confidence=0.9)


def test_a_model_above_the_line_of_the_others():
    """The others lie on new = base − 0.1: 0.4, 0.5, 0.6, 0.8; at 0.6 they expect 0.5."""
    base = {"a": 0.5, "b": 0.6, "c": 0.7, "d": 0.9, "star": 0.6}
    new = {"a": 0.4, "b": 0.5, "c": 0.6, "d": 0.8, "star": 0.58}
    given = {"new": set_of(new), "old": set_of(base)}
    table = analysis.tabulate(given, list(base), scales=["linear"], resamples=50)
    star = table.iloc[0]
    assert (star.model, star.n_standard, star.bases) == ("star", 4, "old")
    assert star.expected == pytest.approx(0.5)
    assert star.rho == pytest.approx(0.08)
    # Of a, with the mean of the others at (0.7, 0.62): slope 0.052 / 0.06, by hand.
    a = table[table.model == "a"].iloc[0]
    assert a.expected == pytest.approx(0.62 - 0.2 * 0.052 / 0.06)
    analysis.SCHEMA.from_frame(table)
    # Of standard models that are named, all lie on the line, and star is in no fit.
    named = analysis.tabulate(given, list(base), standard=["a", "b", "c", "d"])
    assert named.groupby("model").n_standard.first().to_dict() == {
        "a": 3, "b": 3, "c": 3, "d": 3, "star": 4
    }  # fmt: skip


def images_of(z, n, rng, shared=0.85):
    """Which of n images models predict correctly: of accuracy Φ(z), with errors that they share."""
    difficulty = np.sqrt(shared) * rng.normal(size=n)
    return difficulty + np.sqrt(1 - shared) * rng.normal(size=(len(z), n)) < np.reshape(z, (-1, 1))


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("known", [(1, 1, 1), (1, 0, 1), (0, 1, 0)])
def test_resamples_are_those_of_loops_over_models_and_images(known, scale, monkeypatch):
    """Each set: its images, and fits to accuracies on them; or counts, and fits as they are."""
    rng, sizes = np.random.default_rng(5), (40, 60, 50)
    z = rng.normal(0.6, 0.5, 7)
    all_right = [images_of(z + d, n, rng) for d, n in zip((-0.4, 0, 0.2), sizes, strict=True)]
    accuracy = np.array([one.mean(axis=1) for one in all_right])
    chosen = np.arange(7) != 2
    right = [one if is_known else None for one, is_known in zip(all_right, known, strict=True)]
    monkeypatch.setattr("matcheval.statistics.robustness._BLOCK", 130)  # two or three at a time
    given = {"scale": scale, "chosen": chosen, "n": np.reshape(sizes, (-1, 1)), "right": right}
    found = fit_of(*accuracy, **given, resamples=20)

    def at(value):
        return ndtri(value) if scale is Scale.PROBIT else value

    draws, of_models = np.random.default_rng(3), np.random.default_rng([3, 1])
    each = np.empty((20, 3, 7))
    for k, (one, n) in enumerate(zip(right, sizes, strict=True)):
        ends = 0.5 / (n + 1), 1 - 0.5 / (n + 1)
        for b in range(0 if one is None else 20):
            rows = draws.integers(n, size=n, dtype=np.uint32)
            each[b, k] = [sum(model[i] for i in rows) / n for model in one]
        if one is None:
            each[:, k] = draws.binomial(n, np.clip(accuracy[k], *ends), (20, 7)) / n
        each[:, k] = np.clip(each[:, k], *ends)
    rho = np.empty((20, 7))
    for b in range(20):
        times = of_models.multinomial(6, chosen / 6)
        fitted = [at(each[b, k] if known[k] else accuracy[k]) for k in range(3)]
        for model in range(7):
            rows = [m for m in range(7) for _ in range(times[m]) if m != model]
            x = np.column_stack([np.ones(7), *fitted[1:]])[rows]
            if np.linalg.matrix_rank(x) < 3:
                rho[b, model] = np.nan
                continue
            beta = np.linalg.lstsq(x, fitted[0][rows], rcond=None)[0]
            value = beta @ [1, *at(each[b, 1:, model])]
            rho[b, model] = each[b, 0, model] - (ndtr(value) if scale is Scale.PROBIT else value)
    for model in range(7):
        kept = rho[~np.isnan(rho[:, model]), model]
        assert found["n_degenerate"][model] == 20 - len(kept)
        interval = found["rho_low"][model], found["rho_high"][model]
        assert interval == pytest.approx(percentile_interval(kept, 0.9))


class TestUnusual:
    BASE = (0.5, 0.6, 0.7, 0.8, 0.9)
    NEW = (0.4, 0.52, 0.6, 0.69, 0.8)

    def test_accuracies_of_0_and_1_are_not_fitted_on_the_probit_scale(self):
        found = fit_of((*self.NEW, 1.0, 0.95), (*self.BASE, 0.95, 1.0), scale=Scale.PROBIT)
        assert found["is_standard"].tolist() == [True] * 5 + [False] * 2
        assert np.isfinite([found["rho"][5], found["rho_low"][5], found["rho_high"][5]]).all()
        assert np.isnan([found["rho"][6], found["rho_low"][6], found["rho_high"][6]]).all()
        assert fit_of((*self.NEW, 1.0), (*self.BASE, 0.95))["is_standard"].all()

    def test_without_sizes_there_are_no_intervals(self):
        found = fit_of(self.NEW, self.BASE, n=0)
        assert np.isfinite(found["rho"]).all()
        assert np.isnan(found["rho_low"]).all()
        assert found["resamples"] == 0

    def test_refused(self):
        with pytest.raises(InputError, match=r"3 standard models with finite .* of 4 needed"):
            fit_of(self.NEW, self.BASE, chosen=[1, 1, 1, 0, 0])

    def test_draws_do_not_depend_on_the_order(self):
        new = dict(zip("abcde", self.NEW, strict=True))
        given = {"new": set_of(new), "old": set_of(dict(zip("abcde", self.BASE, strict=True)))}
        first, other = (
            analysis.tabulate(given, models, resamples=200, seed=3) for models in ("abcde", "ecdab")
        )
        assert first.equals(other)


@pytest.mark.parametrize("n_bases", [1, 2])
def test_the_figure(n_bases):
    rng = np.random.default_rng(4)
    models = [f"a-rather-long-name-of-model-{i}" for i in range(25)]
    z = rng.normal(0.5, 0.4, 25) + rng.normal(0, 0.1, (n_bases + 1, 25))
    given = {
        name: set_of(dict(zip(models, ndtr(values), strict=True)))
        for name, values in zip(("new", "old", "older"), z, strict=False)
    }
    draw(analysis.plot(analysis.tabulate(given, models, scales=["probit"], resamples=200)))


@pytest.mark.parametrize(
    ("sets", "resampled"),
    [("new old", "images"), ("new paper", "both"), ("paper second", "counts")],
)
def test_a_study_of_published_predictions_and_accuracies(sets, resampled, tmp_path, monkeypatch):
    """The job draws images of the sets of which it has predictions; ρ is the same by counts."""
    monkeypatch.chdir(tmp_path)
    rng, models, z, sets = np.random.default_rng(6), [*"dbeca"], np.arange(5) / 5, sets.split()
    pd.DataFrame({"name": models, "kind": "predictions"}).to_csv("models.csv", index=False)
    datasets, known = {}, {}
    for name, shift, n in (("new", 0.3, 200), ("old", 0, 300)):
        right, labels = images_of(z - shift, n, rng), np.zeros(n, int)
        np.savez(f"{name}.npz", models=models, p=np.where(right, 0, 1), y=labels)
        arrays = {"models": "models", "predictions": "p", "labels": "y"}
        datasets[name] = {"kind": "label_archive", "file": f"{name}.npz", **arrays}
        if name in sets:
            order = np.arange(5)[::-1]
            known[name] = Correctness(tuple(np.array(models)[order]), labels, labels, right[order])
    pd.DataFrame({"m": models, "k": 300 * ndtr(z)}).round().to_csv("paper.csv", index=False)
    paper = {"kind": "accuracies", "file": "paper.csv", "columns": {"model": "m", "top1": "k"}}
    datasets |= dict.fromkeys(("paper", "second"), paper | {"unit": "correct", "n": 300})
    study = load({
        "study": "s", "models": "models.csv", "datasets": datasets,
        "pairs": {"one": dict(zip(("original", "replication"), sets, strict=True))},
        "effective_robustness": {
            "sets": {sets[0]: sets[1]}, "scales": ["probit"], "resamples": 200,
        },
    })  # fmt: skip
    given = {name: dataset_accuracies(study.datasets[name], models) for name in sets}
    for name, table in given.items():
        write_table(table, study.accuracies_file(name))
    job, wildcards = study.analyses["effective_robustness"], SimpleNamespace(dataset=sets[0])
    assert job.inputs(wildcards)[2:] == [f"{name}.npz" for name in known]
    outputs = [f"table{suffix}" for suffix in TABLE_SUFFIXES]
    run_call({"function": "matcheval.study.tables:make_table", "arguments": {
        **job.job_arguments(wildcards), "outputs": outputs, "figure": [],
    }})  # fmt: skip
    table = analysis.SCHEMA.read("table.parquet").to_pandas()
    assert set(table.resampled) == {resampled}
    expected = analysis.tabulate(given, models, images=known, resamples=200)
    pd.testing.assert_frame_equal(table, expected, check_dtype=False, check_exact=True)
    by_counts = analysis.tabulate(given, models, resamples=200)
    assert table.rho.equals(by_counts.rho)
    assert table.rho_low.equals(by_counts.rho_low) == (resampled == "counts")


@needs_data
def test_models_of_recht_leave_the_line_of_one_scale_only():
    """A Fisher vector is 6 points above the linear fit to 67 models, 1.4 above the probit fit."""
    found = results(study("recht-imagenet"), "matched-frequency")
    new, old = (found[f"accuracy_{o}"].to_numpy() for o in ("replication", "original"))
    at = found.model.tolist().index("fv_4k")
    rho = [fit_of(new, old, scale=scale, n=10_000)["rho"][at] for scale in Scale]
    assert np.round(100 * np.array(rho), 1).tolist() == [6.0, 1.4]
    assert ndtri(old).argmin() == at
