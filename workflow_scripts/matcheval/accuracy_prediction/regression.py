"""Regressions of an accuracy, or of an accuracy gap, on a score.

All are unweighted, with an intercept, and clip nothing: a predicted accuracy may lie outside
[0, 1], as in P1, whose Table 2 has errors above 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError

Floats = npt.NDArray[np.float64]

MIN_SETS = 3  # fewer points than this say nothing about a line
LAYERS = (1, 512, 256, 128, 1)  # of the non-linear regression, P1 section 8: 165,377 parameters
_CONSTANT = 1e-12  # a score varies if its range exceeds this share of its size
_LEVERAGE = 1e-9


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out predictions: each point is predicted from a fit to all other points."""

    predicted: Floats
    is_mean: npt.NDArray[np.bool_]


def check_sets(n: int, what: str) -> None:
    """Check that there are enough sets for a regression."""
    if n < MIN_SETS:
        raise InputError(
            f"{n} sets for a regression: {what}",
            file="accuracy_prediction",
            remedy=f"Use at least {MIN_SETS} sets",
        )


def varies(x: Floats) -> bool:
    """Whether the values of a score differ by more than rounding."""
    return float(np.ptp(x)) > _CONSTANT * max(1.0, float(np.abs(x).max()))


def linear(x: Floats, y: Floats, new: Floats, *, seed: int = 0) -> Floats:
    """Fit a line by ordinary least squares and evaluate it."""
    if not varies(x):
        return np.full(len(new), y.mean())
    dx = x - x.mean()
    slope = dx @ (y - y.mean()) / (dx @ dx)
    return np.asarray(y.mean() + slope * (new - x.mean()), np.float64)


def leave_one_out(x: Floats, y: Floats) -> LeftOut:
    """Predict every point by the line through all others."""
    n = len(x)
    others = (y.sum() - y) / (n - 1)
    if not varies(x):
        return LeftOut(others, np.ones(n, np.bool_))
    dx, dy = x - x.mean(), y - y.mean()
    square = dx @ dx
    leverage = 1 / n + dx**2 / square
    alone = leverage > 1 - _LEVERAGE
    residual = dy - (dx @ dy / square) * dx
    with np.errstate(divide="ignore", invalid="ignore"):
        predicted = np.where(alone, others, y - residual / (1 - leverage))
    return LeftOut(predicted, alone)


def mlp(
    x: Floats,
    y: Floats,
    new: Floats,
    *,
    seed: int = 0,
    standardise: bool = True,
    epochs: int = 20_000,
) -> Floats:
    """Fit the multilayer perceptron of P1, section 8, and evaluate it."""
    import torch
    from torch import nn

    centre, scale = (x.mean(), x.std() if varies(x) else 1.0) if standardise else (0.0, 1.0)

    def column(values: Floats) -> "torch.Tensor":
        return torch.from_numpy(np.asarray(values, np.float32))[:, None]

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts: list[nn.Module] = []
        for width, following in pairwise(LAYERS):
            parts += [nn.Linear(width, following), nn.ReLU()]
        network = nn.Sequential(*parts[:-1])
        points, values = column((x - centre) / scale), column(y)
        optimizer = torch.optim.SGD(network.parameters(), 1e-4, momentum=0.9, weight_decay=1e-3)
        lowest, since = np.inf, 0
        for _ in range(epochs):
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(network(points), values)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            value = float(loss.detach())
            if not np.isfinite(value):
                return np.full(len(new), np.nan)
            lowest, since = (value, 0) if value < lowest - 1e-7 else (lowest, since + 1)
            if since >= 500:
                break
        with torch.no_grad():
            found = network(column((new - centre) / scale))[:, 0]
    return np.asarray(found.double().numpy(), np.float64)


REGRESSORS: Mapping[str, Callable[..., Floats]] = {
    "linear": linear,
    "mlp": mlp,
    "mlp_raw": partial(mlp, standardise=False),
}
