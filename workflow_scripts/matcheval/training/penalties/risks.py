"""Functions of the risks of the domains: their variance, their weights, their quantile."""

import math

import torch
from torch import Tensor

_BISECTIONS = 32
_SMALLEST_VARIANCE = 1e-24  # the square root of 0 has no derivative
_SQRT_2 = math.sqrt(2)


def risk_variance(risks: Tensor) -> Tensor:
    """Compute the penalty of V-REx: the population variance of the risks.

    Parameters
    ----------
    risks : float tensor, shape (n_domains,)

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Krueger et al. (2021), Out-of-Distribution Generalization via Risk Extrapolation.
    """
    return (risks - risks.mean()).square().mean()


def reweighted(weights: Tensor, risks: Tensor, step_size: float) -> Tensor:
    """Update the weights of group distributionally robust optimisation.

    Parameters
    ----------
    weights : float tensor, shape (n_domains,)
        Positive; they need not sum to 1.
    risks : float tensor, shape (n_domains,)
        Taken as constants.
    step_size : float
        Step size η of the exponentiated gradient.

    Returns
    -------
    float tensor, shape (n_domains,)
        Proportional to q exp(η r), with sum 1, without graph.

    References
    ----------
    Sagawa et al. (2020), Distributionally Robust Neural Networks for Group Shifts, algorithm 1.
    """
    grown = weights * (step_size * risks.detach()).exp()
    return grown / grown.sum()


def kernel_bandwidth(risks: Tensor) -> Tensor:
    """Compute the bandwidth of a Gaussian kernel density estimate, 1.06 s n^(-1/5).

    Parameters
    ----------
    risks : float tensor, shape (n_domains,)
        At least two. If all are equal, the bandwidth is positive all the same, without gradient.

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Silverman (1986), Density Estimation, equation 3.28; Eastwood et al. (2022), Probable Domain
    Generalization via Quantile Risk Minimization.
    """
    variance = risks.var(correction=1).clamp_min(_SMALLEST_VARIANCE)
    factor: float = 1.06 * len(risks) ** -0.2
    return factor * variance.sqrt()


def bisected_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute a quantile of a kernel density estimate, differentiated as DomainBed does.

    The quantile lies between the α-quantiles of the kernels at the smallest and at the largest
    risk. It is found by bisection as (1 - t) low + t high, and differentiated at constant t: the
    gradient reaches only these two risks and the bandwidth.

    Parameters
    ----------
    risks : float tensor, shape (n_domains,)
    bandwidth : float tensor, shape ()
    alpha : float
        In (0, 1).

    Returns
    -------
    tensor, shape ()

    References
    ----------
    Eastwood et al. (2022), algorithm 1; Gulrajani & Lopez-Paz (2021), DomainBed.
    """
    normal = torch.special.ndtri(torch.tensor(alpha, dtype=torch.float64)).item()
    low, high = risks.min() + bandwidth * normal, risks.max() + bandwidth * normal
    part = _bisect(risks, bandwidth, alpha, low.item(), high.item())
    found: Tensor = (1 - part) * low + part * high
    return found


def implicit_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute a quantile of a kernel density estimate with its exact gradient.

    The value is that of `bisected_quantile`. The gradient is that of the solution q of F(q) = α:
    at constant bandwidth ∂q/∂r_i = φ_i / Σ_j φ_j with the kernels φ at q, and every risk has one.

    Parameters
    ----------
    risks : float tensor, shape (n_domains,)
    bandwidth : float tensor, shape ()
        The gradient in it is exact, too.
    alpha : float
        In (0, 1).

    Returns
    -------
    tensor, shape ()

    References
    ----------
    The implicit function theorem, for the quantile of Eastwood et al. (2022), algorithm 1.
    """
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
