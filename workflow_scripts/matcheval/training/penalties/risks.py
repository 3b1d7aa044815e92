"""Functions of the risks of the domains: their variance, their weights, their quantile."""

import math

import torch
from torch import Tensor

_BISECTIONS = 32
_SMALLEST_VARIANCE = 1e-24  # the square root of 0 has no derivative
_SQRT_2 = math.sqrt(2)


def risk_variance(risks: Tensor) -> Tensor:
    """Compute the penalty of V-REx: the population variance of the risks."""
    return (risks - risks.mean()).square().mean()


def reweighted(weights: Tensor, risks: Tensor, step_size: float) -> Tensor:
    """Update the weights of group distributionally robust optimisation."""
    grown = weights * (step_size * risks.detach()).exp()
    return grown / grown.sum()


def kernel_bandwidth(risks: Tensor) -> Tensor:
    """Compute the bandwidth of a Gaussian kernel density estimate, 1.06 s n^(-1/5)."""
    variance = risks.var(correction=1).clamp_min(_SMALLEST_VARIANCE)
    factor: float = 1.06 * len(risks) ** -0.2
    return factor * variance.sqrt()


def bisected_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute a quantile of a kernel density estimate, differentiated as DomainBed does."""
    normal = torch.special.ndtri(torch.tensor(alpha, dtype=torch.float64)).item()
    low, high = risks.min() + bandwidth * normal, risks.max() + bandwidth * normal
    part = _bisect(risks, bandwidth, alpha, low.item(), high.item())
    found: Tensor = (1 - part) * low + part * high
    return found


def implicit_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute a quantile of a kernel density estimate with its exact gradient."""
    found = bisected_quantile(risks, bandwidth, alpha).detach()
    z = (found - risks) / bandwidth
    density = (-z.detach().square() / 2).exp().mean() / (math.sqrt(2 * math.pi) * bandwidth)
    # A step of Newton's method from the solution: it changes no value, and has the gradient.
    step = (torch.special.ndtr(z).mean() - alpha) / density.detach()
    exact: Tensor = found - (step - step.detach())
    return exact


def _bisect(risks: Tensor, bandwidth: Tensor, alpha: float, low: float, high: float) -> float:
    """Where between the ends the quantile lies, as a fraction; in Python, as the sums are tiny."""
    values, width = risks.tolist(), bandwidth.item()
    if not all(map(math.isfinite, (*values, width, low, high))):
        return 0.5  # the ends, which are not finite, tell of it

    def below(x: float) -> float:
        return sum(0.5 * math.erfc((r - x) / (width * _SQRT_2)) for r in values) / len(values)

    start, end = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (start + end) / 2
        if below(low + middle * (high - low)) > alpha:
            end = middle
        else:
            start = middle
    return (start + end) / 2
