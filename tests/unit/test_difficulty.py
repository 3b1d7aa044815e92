"""The Gaussian model of difficulty: closed forms, simulation, and recovery by fits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from test_replication import SETTINGS, results

from drawings import draw
from matcheval.analyses import difficulty as model
from matcheval.analyses.difficulty import Difficulties, fitted_difficulty, skills
from matcheval.errors import InputError
from matcheval.replication.fits import fit_replication
from matcheval.statistics.lines import Scale, from_scale, to_scale

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(180)


def probit_line(original, replication):
    """Slope and offset as published (section 5.3)."""
    slope = original.spread / replication.spread
    return slope, (original.mu - replication.mu) / replication.spread


sets = st.builds(Difficulties, st.floats(-2, 2), st.floats(0, 3))


@given(sets, st.lists(st.floats(-4, 4), min_size=1, max_size=5))
def test_the_accuracy_is_the_mean_over_difficulties(difficulty, skill):
    """Against Gauss-Hermite quadrature of Φ(s - τ) over N(μ, σ²)."""
    tau = difficulty.mu + difficulty.sigma * NODES
    mean = (ndtr(np.array(skill)[:, None] - tau) * WEIGHTS).sum(axis=1) / WEIGHTS.sum()
    np.testing.assert_allclose(model.expected_accuracy(skill, difficulty), mean, atol=1e-8)


@given(sets, sets, st.lists(st.floats(0.02, 0.98), min_size=3, max_size=6, unique=True))
def test_probit_accuracies_lie_on_the_line_and_keep_their_order(original, replication, accuracy):
    skill = skills(accuracy, original)
    np.testing.assert_allclose(model.expected_accuracy(skill, original), accuracy, atol=1e-10)
    new = model.expected_accuracy(skill, replication)
    slope, offset = probit_line(original, replication)
    # Compared as accuracies: on the probit scale, rounding near 1 would be magnified.
    line = slope * to_scale(accuracy, Scale.PROBIT) + offset
    np.testing.assert_allclose(new, from_scale(line, Scale.PROBIT), atol=1e-10)
    assert (np.diff(new[np.argsort(accuracy)]) >= 0).all()
    again = fitted_difficulty(slope, offset, original)
    assert (again.mu, again.sigma) == pytest.approx(
        (replication.mu, replication.sigma), rel=1e-4, abs=1e-4
    )


def test_lines_that_no_difficulty_explains():
    refused = (1.6, r"slope of 1.6 with σ = 1 .* above 1.25"), (-1, "slope of -1")
    for slope, message in refused:
        with pytest.raises(InputError, match=message):
            fitted_difficulty(slope, -0.5, Difficulties(0, 1))
    found = fitted_difficulty(1.6, -0.5, Difficulties(0, 1.25))
    assert found.sigma == pytest.approx(0.0312, abs=1e-3)


def test_a_pair_is_modelled_and_drawn():
    old = {f"m{i:02}": 1000 + 60 * i for i in range(15)}
    new = {model: int(0.9 * n) - 60 for model, n in old.items()} | {"perfect": 1990}
    table = results(old | {"perfect": 2000}, new, 2000, 2000)
    fit = pd.Series(fit_replication(table, Scale.PROBIT, SETTINGS).row)
    row, of_models = model.model_difficulty(table, fit, sigma=1.5, seed=2)
    assert row["n_models"] == 15  # without the perfect model, whose skill is infinite
    assert (row["mu_original"], row["sigma_original"]) == (0, 1.5)
    line = probit_line(
        Difficulties(0, 1.5), Difficulties(row["mu_replication"], row["sigma_replication"])
    )
    assert line == pytest.approx((fit["slope"], fit["offset"]))
    assert row["rms_error"] < 0.02
    np.testing.assert_allclose(
        of_models.simulated_replication, of_models.expected_replication, atol=0.05
    )
    draw(model.plot_difficulty(table, of_models, pd.Series(row)))
