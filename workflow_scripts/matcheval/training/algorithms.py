"""Algorithms: on logits and risks of the training sets, and on features, the head's input."""

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from matcheval.training.algorithm import (
    Algorithm,
    Minibatch,
    Optimizer,
    Outputs,
    Update,
    join_minibatches,
    join_outputs,
)
from matcheval.training.augmentation import draw_beta
from matcheval.training.options import (
    CoralOptions,
    EqrmOptions,
    FishrOptions,
    GroupDroOptions,
    RcsOptions,
    SagnetOptions,
    SdOptions,
    SelfregOptions,
    VneOptions,
    VrexOptions,
)


class Erm(Algorithm):
    """Empirical risk minimisation (Vapnik 1998): the mean loss over all images."""


def mean_square(logits: Tensor) -> Tensor:
    """Compute the penalty of spectral decoupling: the mean of the squared logits."""
    return logits.square().mean()


class Sd(Algorithm):
    """Spectral decoupling (Pezeshki et al. 2021): penalises the mean squared logit."""

    options: SdOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss plus the weighted mean squared logit."""
        outputs = join_outputs(domains)
        penalty = mean_square(outputs.logits)
        return self.loss(outputs.logits, outputs.targets) + self.options.weight * penalty


_BISECTIONS = 32
_SMALLEST_VARIANCE = 1e-24  # the square root of 0 has no derivative
_SQRT_2 = math.sqrt(2)


def risk_variance(risks: Tensor) -> Tensor:
    """Compute the penalty of V-REx: the population variance of the risks."""
    return (risks - risks.mean()).square().mean()


def reweight_domains(weights: Tensor, risks: Tensor, step_size: float) -> Tensor:
    """Return Group DRO's new weights of the domains: those with high risks gain."""
    grown = weights * (step_size * risks.detach()).exp()
    return grown / grown.sum()


def kernel_bandwidth(risks: Tensor) -> Tensor:
    """Compute the bandwidth of a Gaussian kernel density estimate of risks, 1.06 s n^(-1/5)."""
    variance = risks.var(correction=1).clamp_min(_SMALLEST_VARIANCE)
    factor: float = 1.06 * len(risks) ** -0.2
    return factor * variance.sqrt()


def bisected_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute the α-quantile of a kernel density estimate of risks, with DomainBed's gradient."""
    normal = torch.special.ndtri(torch.tensor(alpha, dtype=torch.float64)).item()
    low, high = risks.min() + bandwidth * normal, risks.max() + bandwidth * normal
    part = _bisect(risks, bandwidth, alpha, low.item(), high.item())
    return (1 - part) * low + part * high


def implicit_quantile(risks: Tensor, bandwidth: Tensor, alpha: float) -> Tensor:
    """Compute the α-quantile of a kernel density estimate of risks, with its exact gradient."""
    quantile = bisected_quantile(risks, bandwidth, alpha).detach()
    z = (quantile - risks) / bandwidth
    density = (-z.detach().square() / 2).exp().mean() / (math.sqrt(2 * math.pi) * bandwidth)
    # A step of Newton's method from the solution: it changes no value, and has the gradient.
    step = (torch.special.ndtr(z).mean() - alpha) / density.detach()
    return quantile - (step - step.detach())


def _bisect(risks: Tensor, bandwidth: Tensor, alpha: float, low: float, high: float) -> float:
    """Find by bisection how far from `low` to `high` the α-quantile lies, as a fraction."""
    values, width = risks.tolist(), bandwidth.item()  # Python numbers: the sums are tiny
    if not all(map(math.isfinite, (*values, width, low, high))):
        return 0.5  # of ends that are not finite, as the quantile is then

    def cdf(x: float) -> float:
        return sum(0.5 * math.erfc((r - x) / (width * _SQRT_2)) for r in values) / len(values)

    start, end = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (start + end) / 2
        if cdf(low + middle * (high - low)) > alpha:
            end = middle
        else:
            start = middle
    return (start + end) / 2


class Vrex(Algorithm):
    """V-REx (Krueger et al. 2021): mean risk plus weighted variance; weight 1 in the burn-in."""

    options: VrexOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the mean risk plus the weighted variance of the risks."""
        risks = self.risks(domains)
        weight = self.options.weight if self.burnt_in else 1.0
        return risks.mean() + weight * risk_variance(risks)


class GroupDro(Algorithm):
    """Group DRO (Sagawa et al. 2020): weighted sum of risks; weights grow with the risks."""

    options: GroupDroOptions
    joint = False
    q: Tensor

    def prepare(self) -> None:
        """Add the weights of the training sets, 1 at first."""
        self.register_buffer("q", torch.ones(self.setup.n_domains, device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Update the weights of the training sets, and return the weighted sum of their risks."""
        risks = self.risks(domains)
        self.q = reweight_domains(self.q, risks, self.options.step_size)
        return self.q @ risks


_QUANTILES = {"bisection": bisected_quantile, "implicit": implicit_quantile}


class Eqrm(Algorithm):
    """EQRM (Eastwood et al. 2022): mean risk, after the burn-in a quantile of the risks."""

    options: EqrmOptions
    joint = False

    def late_optimizer(self) -> Optimizer:
        """Build the optimiser for the steps after the burn-in, with their own learning rate."""
        rate = self.options.late_learning_rate
        return Optimizer(self.network, self.recipe, learning_rate=rate)

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the mean risk or, after the burn-in, a quantile of the risks."""
        risks = self.risks(domains)
        if not self.burnt_in:
            return risks.mean()
        quantile = _QUANTILES[self.options.variant]
        return quantile(risks, kernel_bandwidth(risks), self.options.quantile)


def moment_difference(first: Tensor, second: Tensor) -> Tensor:
    """Compute CORAL's penalty: mean squared differences of two sets' means and covariances."""
    means = first.mean(dim=0) - second.mean(dim=0)
    return means.square().mean() + (_covariance(first) - _covariance(second)).square().mean()


def mean_moment_difference(features: Sequence[Tensor]) -> Tensor:
    """Compute the mean of `moment_difference` over all pairs of domains; 0 for a single domain."""
    pairs = [moment_difference(*pair) for pair in combinations(features, 2)]
    return torch.stack(pairs).mean() if pairs else features[0].new_zeros(())


def _covariance(features: Tensor) -> Tensor:
    centred = features - features.mean(dim=0)
    return centred.T @ centred / (len(features) - 1)


def von_neumann_entropy(features: Tensor) -> Tensor:
    """Compute the von Neumann entropy, -Σ λ log λ, over eigenvalues λ of the Gram matrix."""
    rows = functional.normalize(features, dim=1)
    n, d = rows.shape
    gram = (rows.T @ rows if d < n else rows @ rows.T) / n
    eigenvalues = torch.linalg.eigvalsh(gram).clamp_min(0)
    smallest = torch.finfo(eigenvalues.dtype).eps
    return -(eigenvalues * eigenvalues.clamp_min(smallest).log()).sum()


def squared_distances(features: Tensor) -> Tensor:
    """Compute the squared Euclidean distances between all pairs of rows."""
    centred = features - features.mean(dim=0).detach()  # for less cancellation
    squares = centred.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * centred @ centred.T).clamp_min(0)


def median_squared_distance(distances: Tensor) -> Tensor:
    """Compute the median non-zero squared distance, without gradient; 1 if all are 0."""
    n = len(distances)
    upper = torch.triu_indices(n, n, offset=1, device=distances.device)
    values = distances.detach()[upper[0], upper[1]]
    median = values.masked_fill(values == 0, torch.nan).nanquantile(0.5)
    return torch.where(median.isnan(), torch.ones_like(median), median)


def joint_product_divergence(
    features: Tensor, labels: Tensor, domains: Tensor, *, alpha: float, ridge: float,
    width: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Estimate the relative χ² divergence of p(x, y, domain) from p(x, y) p(domain) (JPDA)."""
    m = len(features)
    distances = squared_distances(features)
    sigma = median_squared_distance(distances) if width is None else width
    same_class = (labels[:, None] == labels).to(features.dtype)
    same_domain = (domains[:, None] == domains).to(features.dtype)
    kernel = (-distances / sigma).exp() * same_class
    joint = kernel * same_domain
    apart = (kernel @ kernel) * (same_domain @ same_domain)
    mixture = (1 - alpha) / m**2 * apart + alpha / m * joint @ joint
    means = joint.mean(dim=0)
    eye = torch.eye(m, dtype=features.dtype, device=features.device)
    theta = torch.linalg.solve(mixture + ridge * eye, means)
    return 2 * means @ theta - theta @ mixture @ theta - 1


class Coral(Algorithm):
    """Deep CORAL (Sun & Saenko 2016): aligns means and covariances of the domains' features."""

    options: CoralOptions
    needs_features = True
    joint = False

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the mean risk plus the weighted mean difference of moments."""
        penalty = mean_moment_difference([domain.features for domain in domains])
        return self.risks(domains).mean() + self.options.weight * penalty


class Vne(Algorithm):
    """Loss over all images, minus the weighted von Neumann entropy (Kim et al. 2023)."""

    options: VneOptions
    needs_features = True

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss minus the weighted von Neumann entropy of the features."""
        outputs = join_outputs(domains)
        entropy = von_neumann_entropy(outputs.features)
        return self.loss(outputs.logits, outputs.targets) - self.options.weight * entropy


class Rcs(Algorithm):
    """Joint-product distribution alignment (Chen et al. 2023); RCS in Sun et al. (2024)."""

    options: RcsOptions
    needs_features = True
    width: Tensor

    def prepare(self) -> None:
        """Add the kernel width, which the variant `fixed_width` keeps from the first batch."""
        self.register_buffer("width", torch.zeros((), device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss plus the weighted joint-product divergence of the features."""
        outputs = join_outputs(domains)
        labels = outputs.targets.argmax(dim=1)
        sizes = torch.tensor([len(domain.targets) for domain in domains], device=labels.device)
        numbers = torch.arange(len(domains), device=labels.device)
        fixed = self.options.variant == "fixed_width"
        if fixed and int(self.n_updates) == 0:
            self.width = median_squared_distance(squared_distances(outputs.features))
        penalty = joint_product_divergence(
            outputs.features,
            labels,
            numbers.repeat_interleave(sizes, output_size=len(labels)),
            alpha=self.options.mixture,
            ridge=self.options.ridge,
            width=self.width if fixed else None,
        )
        return self.loss(outputs.logits, outputs.targets) + self.options.weight * penalty


def head_gradient_variance(logits: Tensor, targets: Tensor, features: Tensor) -> Tensor:
    """Compute the variance over images of the cross entropy's gradient for each head parameter."""
    errors = torch.softmax(logits, dim=1) - targets
    n = len(errors)
    inputs = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
    means = errors.T @ inputs / n
    variances = errors.square().T @ inputs.square() / n - means.square()
    return torch.cat([variances[:, :-1].flatten(), variances[:, -1]])


def update_variances(previous: Tensor, variances: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Update moving averages of variances; return them over 1 - decay, and without gradient."""
    averages = decay * previous.detach() + (1 - decay) * variances
    return averages / (1 - decay), averages.detach()


def variance_difference(variances: Tensor) -> Tensor:
    """Compute Fishr's penalty: the mean squared deviation of variances from their domain mean."""
    return (variances - variances.mean(dim=0)).square().mean()


class Fishr(Algorithm):
    """Fishr (Rame et al. 2022): after the burn-in, aligns the domains' variances of gradients."""

    options: FishrOptions
    needs_features = True
    averages: Tensor

    def prepare(self) -> None:
        """Add the moving averages of the gradient variances, one row per domain."""
        size = self.network_head.out_features * (self.network_head.in_features + 1)
        self.register_buffer(
            "averages", torch.zeros(self.setup.n_domains, size, device=self.device)
        )

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Update the moving averages; return the loss, after the burn-in with the penalty."""
        with torch.set_grad_enabled(self.burnt_in):
            variances = torch.stack(
                [head_gradient_variance(domain.logits, domain.targets, domain.features)
                 for domain in domains]
            )  # fmt: skip
            penalised, self.averages = update_variances(
                self.averages, variances, self.options.decay
            )
        loss = super().objective(domains)
        if not self.burnt_in:
            return loss
        return loss + self.options.weight * variance_difference(penalised)


def permute_within_classes(labels: Tensor, generator: Generator) -> Tensor:
    """Draw a random permutation that maps every image to one of the same class."""
    shuffled = torch.randperm(len(labels), generator=generator).to(labels.device)
    permutation = torch.empty_like(labels)
    # Both orders go through the classes one after the other.
    permutation[labels.argsort(stable=True)] = shuffled[labels[shuffled].argsort(stable=True)]
    return permutation


def selfreg_penalty(
    logits: Tensor, features: Tensor, projected: Tensor, permutations: tuple[Tensor, Tensor],
    share: float, feature_weight: float,
) -> Tensor:  # fmt: skip
    """Compute SelfReg's penalty: distances to images, and to mixtures of images, of the same class.

    With logits o and projections p of the features f, their permutations o₁, p₁ and o₂, p₂, and
    mixtures o₃ = λ o₁ + (1 - λ) o₂ and p₃ alike, it is λ [MSE(o, o₁) + w MSE(f, p₁)] +
    (1 - λ) [MSE(o, o₃) + w MSE(f, p₃)].

    Source: Kim et al. (2021), SelfReg: Self-supervised Contrastive Regularization for Domain
    Generalization; Gulrajani & Lopez-Paz (2021), DomainBed.
    """
    first, second = permutations

    def distance(other_logits: Tensor, other_features: Tensor) -> Tensor:
        return functional.mse_loss(logits, other_logits) + feature_weight * functional.mse_loss(
            features, other_features
        )

    def mixed(values: Tensor) -> Tensor:
        return share * values[first] + (1 - share) * values[second]

    single = distance(logits[first], projected[first])
    return share * single + (1 - share) * distance(mixed(logits), mixed(projected))


class Selfreg(Algorithm):
    """SelfReg (Kim et al. 2021): aligns features of images, and mixtures, of the same class."""

    options: SelfregOptions
    needs_features = True

    def prepare(self) -> None:
        """Add the projection of features, which the variant `default` trains with the network."""
        width, kind = self.network_head.in_features, self.options.projector
        self.projector = build_projector(width, kind).to(self.device)
        if self.options.variant == "default":
            trained = nn.ModuleList([self.network, self.projector])
            self.optimizers["network"] = Optimizer(trained, self.recipe)

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss plus SelfReg's penalty times the loss, but at most times 1."""
        outputs, generator = join_outputs(domains), self.setup.generator
        labels = outputs.targets.argmax(dim=1)
        (share,) = draw_beta(0.5, 1, generator)
        penalty = selfreg_penalty(
            outputs.logits,
            outputs.features,
            self.in_precision(self.projector, outputs.features).float(),
            (permute_within_classes(labels, generator), permute_within_classes(labels, generator)),
            share,
            self.options.feature_weight,
        )
        loss = self.loss(outputs.logits, outputs.targets)
        return loss + loss.detach().clamp_max(1) * penalty


def build_projector(width: int, kind: Literal["domainbed", "double"]) -> nn.Sequential:
    """Build SelfReg's projection of features: an MLP of two hidden layers, with batch norm."""
    hidden = width if kind == "domainbed" and width == 2048 else 2 * width
    sizes = (width, hidden, hidden, width)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


EPSILON = 1e-5


def randomized_style(
    features: Tensor, own_share: Tensor, permutation: Tensor, epsilon: float = EPSILON
) -> Tensor:
    """Mix each image's style (mean and variance of its features) with that of another image."""
    standard, mean, variance = _standardize(features, epsilon)
    share = own_share[:, None]
    mean = share * mean + (1 - share) * mean[permutation]
    variance = share * variance + (1 - share) * variance[permutation]
    return standard * (variance + epsilon).sqrt() + mean


def randomized_content(features: Tensor, permutation: Tensor, epsilon: float = EPSILON) -> Tensor:
    """Give each image the content of another one, without gradient, in its own style."""
    standard, mean, variance = _standardize(features, epsilon)
    return standard[permutation].detach() * (variance + epsilon).sqrt() + mean


def _standardize(features: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Standardise each row; return it with its mean and variance."""
    variance, mean = torch.var_mean(features, dim=1, keepdim=True, correction=1)
    return (features - mean) / (variance + epsilon).sqrt(), mean, variance


def cross_entropy_to_uniform(logits: Tensor) -> Tensor:
    """Compute the adversarial loss of SagNet: the cross entropy to the uniform distribution."""
    return -torch.log_softmax(logits, dim=1).mean()


class Sagnet(Algorithm):
    """SagNet (Nam et al. 2021): three updates per step, each after its own forward pass."""

    options: SagnetOptions
    needs_features = True

    def prepare(self) -> None:
        """Add the style head, of the shape of the network's head, and its optimiser."""
        head = self.network_head
        self.style_head = nn.Linear(head.in_features, head.out_features).to(self.device)
        self.optimizers["style_head"] = Optimizer(self.style_head, self.recipe)

    def step(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Update the network, the style head and, adversarially, the network without its head."""
        images, targets = join_minibatches(minibatches)
        logits, features = self.logits_and_features(images)
        own_share = torch.rand(len(images), generator=self.setup.generator).to(images.device)
        styled = randomized_style(features, own_share, self._random_permutation(features))
        loss = self.loss(self.in_precision(self.network_head, styled).float(), targets)
        self.optimizers["network"].step(loss, factor)
        with torch.no_grad():
            _, features = self.logits_and_features(images)
        self.optimizers["style_head"].step(self.loss(self._style_logits(features), targets), factor)
        _, features = self.logits_and_features(images)
        adversarial = cross_entropy_to_uniform(self._style_logits(features))
        self.optimizers["network"].step(
            self.options.weight * adversarial, factor, fixed=self.network_head
        )
        return Update(loss.detach(), logits.detach())

    def _style_logits(self, features: Tensor) -> Tensor:
        """Run the style head on features that have the content of other, random images."""
        mixed = randomized_content(features, self._random_permutation(features))
        logits: Tensor = self.in_precision(self.style_head, mixed)
        return logits.float()

    def _random_permutation(self, features: Tensor) -> Tensor:
        return torch.randperm(len(features), generator=self.setup.generator).to(features.device)


IMPLEMENTATIONS: dict[str, type[Algorithm]] = {
    "erm": Erm, "sd": Sd, "vrex": Vrex, "group_dro": GroupDro, "eqrm": Eqrm,
    "coral": Coral, "vne": Vne, "rcs": Rcs, "fishr": Fishr, "selfreg": Selfreg, "sagnet": Sagnet,
}  # fmt: skip
