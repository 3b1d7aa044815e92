"""Penalties of domain generalisation: numeric cases, literal loops, invariants."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.nn import functional

import vectors
from matcheval.training import algorithms
from matcheval.training.losses import cross_entropy


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def one_hot(labels, n):
    return functional.one_hot(torch.as_tensor(labels), n).double()


@pytest.fixture(scope="module")
def shared():
    """Logits, features and targets per domain."""
    given = vectors.shared("domain_generalization")
    logits, features = (list(map(tensor, given[part])) for part in ("logits", "features"))
    return logits, features, [one_hot(labels, 3) for labels in given["y"]]


class TestNumericCases:
    """Those of the specification."""

    def check(self, name, found):
        case = vectors.case("domain_generalization", name)
        expected = case["expected"]
        if not isinstance(expected, dict):
            found, expected = {"": found}, {"": expected}
        for part, value in expected.items():
            np.testing.assert_allclose(found[part], value, rtol=0, atol=case["tol"], err_msg=part)

    def risks(self, shared):
        return torch.stack([cross_entropy(z, y) for z, y in zip(shared[0], shared[2], strict=True)])

    def test_risks_and_logits(self, shared):
        logits, joint = torch.cat(shared[0]), cross_entropy(*map(torch.cat, shared[::2]))
        self.check("erm", joint)
        risks = self.risks(shared)
        self.check("domain_risks", risks)
        variance = algorithms.risk_variance(risks)
        losses = [risks.mean() + weight * variance for weight in (1, 10)]
        names = ("penalty", "loss_before_anneal", "loss_after_anneal")
        self.check("vrex", dict(zip(names, (variance, *losses), strict=True)))
        square = algorithms.mean_square(logits)
        self.check("sd", {"penalty": square, "loss": joint + 0.1 * square})
        adversarial = 0.1 * algorithms.cross_entropy_to_uniform(logits)
        self.check("sagnet.adv_loss", adversarial)

    def test_weights_of_domains(self, shared):
        risks = self.risks(shared)
        later = tensor(vectors.case("domain_generalization", "groupdro")["inputs"]["risks_step2"])
        start = torch.ones(3, dtype=torch.float64)
        one = algorithms.reweight_domains(start, risks, 0.01)
        two = algorithms.reweight_domains(one, later, 0.01)
        found = {
            "q_step1": one, "loss_step1": one @ risks, "q_step2": two, "loss_step2": two @ later,
            "q_step1_eta1": algorithms.reweight_domains(start, risks, 1.0),
        }  # fmt: skip
        self.check("groupdro", found)

    def test_features(self):
        given = vectors.case("domain_generalization", "vne")["inputs"]["H"]
        self.check("vne", algorithms.von_neumann_entropy(tensor(given)))
        given = vectors.case("domain_generalization", "sagnet.randomize")["inputs"]
        x, permutation = tensor(given["x"]), torch.tensor(given["perm"])
        style = algorithms.randomized_style(x, tensor(given["alpha"]), permutation, given["eps"])
        content = algorithms.randomized_content(x, permutation, given["eps"])
        self.check("sagnet.randomize", {"style": style, "content": content})


class TestLiteralLoops:
    """Against the definitions, entry by entry."""

    def test_moments(self):
        features = [drawn(n, 3, seed=n) for n in (4, 5, 6)]
        pairs = []
        for i, one in enumerate(features):
            for other in features[i + 1 :]:
                means = ((one.mean(0) - other.mean(0)) ** 2).mean()
                covariances = [torch.tensor(np.cov(x.numpy(), rowvar=False)) for x in (one, other)]
                pairs.append(means + ((covariances[0] - covariances[1]) ** 2).mean())
        assert torch.allclose(algorithms.mean_moment_difference(features), sum(pairs) / 3)

    def test_moving_averages(self):
        """The first are the variances themselves; the gradient in the variances is always 1."""
        first, second = drawn(2, 3).square().requires_grad_(), drawn(2, 3, seed=1).square()
        penalised, averages = algorithms.update_variances(torch.zeros(2, 3).double(), first, 0.95)
        assert torch.allclose(penalised, first)
        assert not averages.requires_grad
        assert torch.allclose(averages, 0.05 * first)
        penalised, averages = algorithms.update_variances(averages, second, 0.95)
        assert torch.allclose(penalised, (0.95 * 0.05 * first + 0.05 * second) / 0.05)
        assert torch.allclose(averages, 0.05 * penalised)

    @pytest.mark.parametrize("alpha", [0.1, 0.75, 0.99])
    def test_quantiles(self, alpha):
        """By the kernel density estimate, and the formula of the exact derivative."""
        risks = tensor([1.2, 0.4, 0.9, 2.5]).requires_grad_()
        kernels = norm(risks.detach(), 1.06 * np.std(risks.tolist(), ddof=1) * 4**-0.2)
        bandwidth = algorithms.kernel_bandwidth(risks).detach()
        found = algorithms.implicit_quantile(risks, bandwidth, alpha)
        assert kernels.cdf(found.item()).mean() == pytest.approx(alpha, abs=1e-8)
        (gradient,) = torch.autograd.grad(found, risks)
        density = kernels.pdf(found.item())
        assert torch.allclose(gradient, tensor(density / density.sum()), atol=1e-8)


def test_content_of_others_is_constant():
    x, permutation = drawn(3, 4).requires_grad_(), torch.tensor([1, 2, 0])
    style = (x.var(1, keepdim=True) + 1e-5).sqrt()
    constant = ((x - x.mean(1, keepdim=True)) / style)[permutation].detach()
    literal = constant * style + x.mean(1, keepdim=True)
    found = algorithms.randomized_content(x, permutation)
    weights = drawn(3, 4, seed=1)
    gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, literal)]
    assert torch.allclose(*gradients)


def test_gradients_are_finite_where_formulas_are_not():
    """Equal risks, repeated images and repeated eigenvalues."""
    equal = torch.ones(3, requires_grad=True)
    for quantile in (algorithms.bisected_quantile, algorithms.implicit_quantile):
        (gradient,) = torch.autograd.grad(
            quantile(equal, algorithms.kernel_bandwidth(equal), 0.75), equal
        )
        assert gradient.isfinite().all()
    for rows in (torch.eye(4), torch.ones(4, 3)):
        rows.requires_grad_()
        (gradient,) = torch.autograd.grad(algorithms.von_neumann_entropy(rows), rows)
        assert gradient.isfinite().all()
        divergence = algorithms.joint_product_divergence(
            rows, torch.arange(4) % 2, torch.arange(4) // 2, alpha=0.5, ridge=0.01
        )
        (gradient,) = torch.autograd.grad(divergence, rows)
        assert gradient.isfinite().all()
