"""Algorithms on logits and on the risks of the training sets, and their penalties."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from matcheval.training.algorithm import Algorithm, Outputs, joined
from matcheval.training.optimizers import Optimizer
from matcheval.training.options import (
    EqrmOptions,
    GroupDroOptions,
    SdOptions,
    VrexOptions,
)


class Erm(Algorithm):
    """Empirical risk minimisation (Vapnik 1998): the mean loss over all images."""


def mean_square(logits: Tensor) -> Tensor:
    """Compute the penalty of spectral decoupling: the mean of the squared logits."""
    return logits.square().mean()


class Sd(Algorithm):
    """Spectral decoupling (Pezeshki et al. 2021): the mean squared logit is kept small."""

    options: SdOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        every = joined(domains)
        penalty = mean_square(every.logits)
        return self.loss(every.logits, every.targets) + self.options.weight * penalty


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
    return (1 - part) * low + part * high


def implicit_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute a quantile of a kernel density estimate with its exact gradient."""
    found = bisected_quantile(risks, bandwidth, alpha).detach()
    z = (found - risks) / bandwidth
    density = (-z.detach().square() / 2).exp().mean() / (math.sqrt(2 * math.pi) * bandwidth)
    # A step of Newton's method from the solution: it changes no value, and has the gradient.
    step = (torch.special.ndtr(z).mean() - alpha) / density.detach()
    return found - (step - step.detach())


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


class Vrex(Algorithm):
    """V-REx (Krueger et al. 2021): mean risk plus weighted variance; weight 1 in the burn-in."""

    options: VrexOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        risks = self.risks(domains)
        weight = self.options.weight if self.burnt_in else 1.0
        return risks.mean() + weight * risk_variance(risks)


class GroupDro(Algorithm):
    """Group DRO (Sagawa et al. 2020): weighted sum of risks; weights grow with the risks."""

    options: GroupDroOptions
    joint = False
    q: Tensor

    def prepare(self) -> None:
        """Add what the algorithm has besides the network."""
        self.register_buffer("q", torch.ones(self.setup.n_domains, device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Update the weights, and compute the loss of a step."""
        risks = self.risks(domains)
        self.q = reweighted(self.q, risks, self.options.step_size)
        return self.q @ risks


_QUANTILES = {"bisection": bisected_quantile, "implicit": implicit_quantile}


class Eqrm(Algorithm):
    """EQRM (Eastwood et al. 2022): mean risk, after the burn-in a quantile of the risks."""

    options: EqrmOptions
    joint = False

    def late_optimizer(self) -> Optimizer:
        """Build the optimiser of the steps after the burn-in, with its own learning rate."""
        rate = self.options.late_learning_rate
        return Optimizer(self.network, self.recipe, learning_rate=rate)

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        risks = self.risks(domains)
        if not self.burnt_in:
            return risks.mean()
        quantile = _QUANTILES[self.options.variant]
        return quantile(risks, kernel_bandwidth(risks), self.options.quantile)


RISK_ALGORITHMS: dict[str, type[Algorithm]] = {
    "erm": Erm, "sd": Sd, "vrex": Vrex, "group_dro": GroupDro, "eqrm": Eqrm,
}  # fmt: skip
