import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.training import LOSSES, losses

# Two datapoints of two classes with probabilities (0.75, 0.25) and (0.5, 0.5), both of class 0.
LOGITS = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]], dtype=torch.float64)
HARD = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
SOFT = torch.tensor([[0.6, 0.4], [0.0, 1.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "parameter", "hard", "soft"),
    [
        # -(log 0.75 + log 0.5) / 2; -(0.6 log 0.75 + 0.4 log 0.25 + log 0.5) / 2
        ("cross_entropy", None, 0.4904146, 0.7101374),
        # -(0.25² log 0.75 + 0.5² log 0.5) / 2;
        # -(0.6 · 0.25² log 0.75 + 0.4 · 0.75² log 0.25 + 0.5² log 0.5) / 2
        ("focal", None, 0.0956335, 0.2479956),
        # (2 · 0.25² + 2 · 0.5²) / 2; (2 · 0.15² + 2 · 0.5²) / 2
        ("brier", None, 0.3125, 0.2725),
        # targets 0.95 and 0.05: -(0.95 log 0.75 + 0.05 log 0.25 + log 0.5) / 2;
        # soft 0.59 and 0.41, 0.05 and 0.95: -(0.59 log 0.75 + 0.41 log 0.25 + log 0.5) / 2
        ("label_smoothing", None, 0.5178799, 0.7156302),
        # excess c - r: 0.25, 0.5, kernel exp(-0.25 / 0.4) = 0.5352614;
        # squared (0.0625 + 0.25 + 2 · 0.125 · 0.5352614) / 4, and cross entropy + 4 · root.
        # Soft: excess 0.6 - 0.75 and 0 - 0.5 (of the tie, class 0 is predicted).
        ("mmce", None, 1.8265514, 1.8980586),
        # Both are correct: v = 0.25 / 2 and 0.5 / 2 as in `mmce`; times 2.
        # Soft: correct 0.6 and 0, so v = 0.6 · 0.25 / 0.6 - 0.4 · 0.75 / 1.4 = 0.0357143 and
        # -0.5 / 1.4 = -0.3571429; squared 0.1151719, root 0.3393699.
        ("mmce_weighted", None, 1.1584830, 1.3888768),
        # As `mmce`, without the root: 0.4904146 + 4 · 0.1115789; soft 0.7101374 + 4 · 0.0881973
        ("mmce_mukhoti", 4.0, 0.9367301, 1.0629263),
        # None is incorrect: no term. Soft: v = 0.15 - 0.3 / 1.4² = -0.0030612, the sum of correct
        # masses 0.6 counting as 1, and -0.5 / 1.4² = -0.2551020; squared 0.0659224, root 0.2567536.
        ("mmce_weighted_mukhoti", None, 0.4904146, 1.2236446),
        # -(0.25³ log 0.75 + 0.5³ log 0.5) / 2;
        # -(0.6 · 0.25³ log 0.75 + 0.4 · 0.75³ log 0.25 + 0.5³ log 0.5) / 2
        ("focal_sample_dependent", None, 0.0455692, 0.1616388),
    ],
)
def test_hand_computed_values(name, parameter, hard, soft):
    loss = losses.build_loss(name, parameter)
    assert loss(LOGITS, HARD).item() == pytest.approx(hard, abs=1e-6)
    assert loss(LOGITS, SOFT).item() == pytest.approx(soft, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 6))
def test_mmce_equals_the_sums_of_the_papers_and_of_the_code(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes)) * 2
    labels = rng.integers(n_classes, size=n)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    r, right = p.max(axis=1), p.argmax(axis=1) == labels
    k, total = right.sum(), 0.0
    sums = {(True, True): 0.0, (False, False): 0.0, (True, False): 0.0}
    for i in range(n):
        for j in range(n):
            kernel = math.exp(-abs(r[i] - r[j]) / 0.4)
            total += (right[i] - r[i]) * (right[j] - r[j]) * kernel
            if (right[i], right[j]) in sums:
                factors = (1 - r[i] if right[i] else r[i]) * (1 - r[j] if right[j] else r[j])
                sums[right[i], right[j]] += factors * kernel
    pairs = {(True, True): k**2, (False, False): (n - k) ** 2, (True, False): k * (n - k)}
    means = {key: each / pairs[key] if pairs[key] else 0.0 for key, each in sums.items()}
    signs = {(True, True): 1, (False, False): 1, (True, False): -2}
    paper = sum(signs[key] * mean for key, mean in means.items())
    # torrvision/focal_calibration divides the means once more, by the same numbers of pairs.
    code = sum(signs[key] * mean / (pairs[key] + 1e-5) for key, mean in means.items())
    entropy = -np.log(p[np.arange(n), labels]).mean()
    for name, term, rel in (
        ("mmce", math.sqrt(max(total / n**2, 1e-10)), 1e-6),
        ("mmce_mukhoti", total / n**2, 1e-6),
        ("mmce_weighted", math.sqrt(max(paper, 1e-10)), 1e-6),
        ("mmce_weighted_mukhoti", math.sqrt(code + 1e-10) if 0 < k < n else 0.0, 2e-5),
    ):
        given = torch.from_numpy(logits), torch.from_numpy(np.eye(n_classes)[labels])
        found = losses.build_loss(name, 3.0)(*given).item()
        assert found == pytest.approx(entropy + 3 * term, rel=rel)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("parameter", [None, 0.0, 0.5])
def test_extreme_logits_have_finite_losses_and_gradients(name, parameter):
    logits = torch.tensor([[200.0, -200.0], [-200.0, 200.0], [0.0, 0.0]], requires_grad=True)
    loss = losses.build_loss(name, parameter)(logits, torch.tensor([[1.0, 0.0]] * 3))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()
