"""Scores computed from features.

Distances between sets, classifiers that tell sets apart, prototypes, how far apart the means by
predicted class are, and how well features say by how much an image was rotated.
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores import outputs as model_outputs
from matcheval.accuracy_prediction.scores.outputs import Classes, Floats, Moments, Outputs
from matcheval.accuracy_prediction.scores.score import (
    Data,
    NotAvailableError,
    Predicts,
    Scores,
    Sides,
    Sources,
)
from matcheval.errors import InputError
from matcheval.predictions.softmax import softmax

LOGGER = logging.getLogger(__name__)
SCORES = Scores()
Features = npt.NDArray[np.float32]
Part = tuple[Features, Classes]


def checked_features(outputs: Outputs) -> Features:
    """Return the features; raise if they are missing, of no datapoints, or not finite."""
    if outputs.features is None:
        raise NotAvailableError("no features on file: inference.outputs: [features]")
    if not len(outputs):
        raise NotAvailableError("there are no datapoints")
    if not np.isfinite(outputs.features).all():
        raise NotAvailableError("features are not finite numbers")
    return outputs.features


def _reference(sources: Sources) -> Outputs:
    assert sources.reference is not None  # as `missing_inputs` makes sure
    return sources.reference


def _check_widths(width: int, other: int) -> None:
    """Raise `NotAvailableError` unless two sets have equal numbers of features."""
    if width != other:
        raise NotAvailableError(
            f"the set has {other} features per datapoint, and what it is compared with has {width}"
        )


# --- Distances of means and covariances


def feature_moments(outputs: Outputs) -> Moments:
    """Return mean and covariance of the features; raise if they are missing or not finite."""
    if outputs.features is not None:
        checked_features(outputs)
    moments = outputs.moments
    if moments is None:
        raise NotAvailableError(
            "no features on file, and the statistics on file, if any, are of all classes: "
            "inference.outputs: [features]"
        )
    if not np.isfinite(moments.mean).all():
        raise NotAvailableError("features are not finite numbers")
    return moments


def mean_distance(first: Moments, second: Moments) -> float:
    """Compute the Euclidean distance of the means (P1, equation 9)."""
    return float(np.linalg.norm(first.mean - second.mean))


def frechet_distance(first: Moments, second: Moments, *, as_printed: bool = False) -> float:
    """Compute the Fréchet distance of two normal distributions.

    `as_printed` leaves the norm of the difference of means as it is, without the square.
    """
    if second.deviations is None:
        product = first.root.T @ second.covariance @ first.root
    else:  # a smaller matrix with the same nonzero eigenvalues
        rows = second.deviations @ first.root
        product = rows @ rows.T
    values = np.linalg.eigvalsh(product)
    cross = np.sqrt(values[values > model_outputs.eigenvalue_floor(values)]).sum()
    spread = np.trace(first.covariance) + np.trace(second.covariance) - 2 * cross
    between = mean_distance(first, second)
    return float((between if as_printed else between**2) + max(spread, 0.0))


def _frechet_to_target(first: Moments, target: Outputs, *, as_printed: bool = False) -> float:
    """Compute the Fréchet distance of a set's moments and the target; raise if undefined."""
    second = feature_moments(target)
    _check_widths(len(first.mean), len(second.mean))
    if min(first.n, second.n) < 2:
        raise NotAvailableError("a single datapoint has no covariance")
    return frechet_distance(first, second, as_printed=as_printed)


_of_statistics = partial(SCORES.add, needs=(Data.STATISTICS,), predicts=Predicts.GAP, direction=-1)


def frechet(as_printed: bool, sides: Sides) -> float:
    """Compute the Fréchet distance of base and target; `as_printed` does not square the norm."""
    return _frechet_to_target(feature_moments(sides.base), sides.target, as_printed=as_printed)


_EQUATION = "P1, equation 10"
_of_statistics("frechet", "Frechet", source=_EQUATION)(partial(frechet, False))
_of_statistics(
    "frechet", "Frechet", variant="as_printed", source=f"{_EQUATION}, norm not squared"
)(partial(frechet, True))  # fmt: skip


@SCORES.add(
    "frechet_reference", "FD", Predicts.BY_REGRESSION, -1, source="P2, Table 2",
    needs=(Data.STATISTICS, Data.REFERENCE),
    fit=lambda sources: feature_moments(_reference(sources)),
)  # fmt: skip
def frechet_from_reference(sides: Sides, reference: Moments) -> float:
    """Compute the Fréchet distance of the reference set and the target."""
    return _frechet_to_target(reference, sides.target)


@_of_statistics("mmd", "MMD", source="P1, equation 9")
def mmd(sides: Sides) -> float:
    """Compute the Euclidean distance of the feature means of base and target."""
    base, target = feature_moments(sides.base), feature_moments(sides.target)
    _check_widths(len(base.mean), len(target.mean))
    return mean_distance(base, target)


# --- Linear classifiers, their penalty tuned on further datapoints

STRENGTHS = tuple(10.0**power for power in range(-4, 3))  # scikit-learn's C
_MAX_ITER = 1000


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardisation of features: to mean 0 and standard deviation 1."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: npt.NDArray[Any]) -> "Scaling":
        """Estimate mean and standard deviation of each feature; constant features get 1."""
        deviation = features.std(axis=0, dtype=np.float64)
        mean = features.mean(axis=0, dtype=np.float64)
        return cls(mean, np.where(deviation > 0, deviation, 1.0))

    def apply(self, features: npt.NDArray[Any]) -> Floats:
        """Subtract the means and divide by the standard deviations."""
        scaled: Floats = features - self.mean
        scaled /= self.deviation
        return scaled


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """A linear classifier of standardised features."""

    scaling: Scaling
    weights: Floats
    intercepts: Floats
    strength: float

    def decide(self, features: npt.NDArray[Any]) -> Floats:
        """Return log-odds of class 1, shape (n,), or logits of all classes, shape (n, k)."""
        logits: Floats = self.scaling.apply(features) @ self.weights + self.intercepts
        return logits[:, 0] if logits.shape[1] == 1 else logits


def fit_linear(train: Part, tune: Part, *, balanced: bool = False) -> LinearClassifier:
    """Fit a standardised logistic regression, its L2 penalty chosen by the error on `tune`."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    scaling = Scaling.of(train[0])
    scaled, unseen = scaling.apply(train[0]), scaling.apply(tune[0])
    # Every fit starts from that with the next stronger penalty.
    model = LogisticRegression(
        warm_start=True, max_iter=_MAX_ITER, class_weight="balanced" if balanced else None
    )
    best, lowest = None, np.inf
    with (
        config_context(assume_finite=True, skip_parameter_validation=True),  # a seventh faster
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below, in one line
        for strength in STRENGTHS:
            model.set_params(C=strength).fit(scaled, train[1])
            error = error_rate(tune[1], model.predict(unseen), balanced=balanced)
            if model.n_iter_.max() == _MAX_ITER:
                LOGGER.info("linear classifier: C = %g did not converge in %d iterations",
                            strength, _MAX_ITER)  # fmt: skip
            if error < lowest:
                lowest, weights, offsets = error, model.coef_.T.copy(), model.intercept_.copy()
                best = LinearClassifier(scaling, weights, offsets, strength)
    assert best is not None
    return best


def error_rate(classes: Classes, predicted: Classes, *, balanced: bool = False) -> float:
    """Return the share of wrong predictions, or if balanced its mean over the true classes."""
    wrong = classes != predicted
    if not balanced:
        return float(wrong.mean())
    return float(np.mean([wrong[classes == label].mean() for label in np.unique(classes)]))


def cut_in_three(n: int, seed: int) -> tuple[Classes, ...]:
    """Split the positions 0 to n - 1 at random: 40 % to train, 10 % to tune, 50 % to report on."""
    order = np.random.default_rng((seed, n)).permutation(n)
    train, tune = round(0.4 * n), round(0.1 * n)
    return tuple(np.sort(part) for part in np.split(order, (train, train + tune)))


# --- Classifiers of base and target

_FEWEST = 10  # datapoints of a set, or images: one to tune on
_HIDDEN, _EPOCHS, _PATIENCE = 512, 100, 10


@dataclass(frozen=True)
class Discrimination:
    """How well base and target can be told apart on held-out data: AUC and proxy A-distance."""

    auc: float
    a_proxy: float


def discrimination(
    domains: Classes, scores: npt.NDArray[Any], threshold: float = 0.0, *, balanced: bool = False
) -> Discrimination:
    """Compute AUC and proxy A-distance of scores that should be higher in domain 1 than in 0."""
    from sklearn.metrics import roc_auc_score

    error = error_rate(domains, (scores > threshold).astype(np.int64), balanced=balanced)
    return Discrimination(float(roc_auc_score(domains, scores)), 2 * (1 - 2 * error))


def _split_domains(domains: Sequence[Features], seed: int) -> list[Part]:
    """Return features and domains (0 or 1) to train, to tune and to report on."""
    cuts = [[part[rows] for rows in cut_in_three(len(part), seed)] for part in domains]
    return [
        (np.concatenate(pair), np.repeat([0, 1], [len(part) for part in pair]))
        for pair in zip(*cuts, strict=True)
    ]


def _equal_sizes(domains: Sequence[Features], seed: int) -> list[Features]:
    """Reduce the larger set of features at random to the size of the smaller one."""
    size, rng = min(map(len, domains)), np.random.default_rng(seed)
    return [
        part if len(part) == size else part[np.sort(rng.choice(len(part), size, replace=False))]
        for part in domains
    ]


def domain_features(sides: Sides) -> tuple[Features, Features]:
    """Return the features of base and target; raise if a discriminator has too few datapoints."""
    base, target = checked_features(sides.base), checked_features(sides.target)
    _check_widths(base.shape[1], target.shape[1])
    if min(len(base), len(target)) < _FEWEST:
        raise NotAvailableError(f"a discriminator needs {_FEWEST} datapoints of either set")
    return base, target


def linear(sides: Sides) -> Discrimination:
    """Tell base from target by logistic regression on equally many datapoints of each."""
    domains = _equal_sizes(domain_features(sides), sides.seed)
    train, tune, report = _split_domains(domains, sides.seed)
    return discrimination(report[1], fit_linear(train, tune).decide(report[0]))


def balanced_linear(sides: Sides) -> Discrimination:
    """Tell base from target by logistic regression on all datapoints, both weighing the same."""
    train, tune, report = _split_domains(domain_features(sides), sides.seed)
    scores = fit_linear(train, tune, balanced=True).decide(report[0])
    return discrimination(report[1], scores, balanced=True)


def mlp(sides: Sides) -> Discrimination:
    """Tell base from target by a network with one hidden layer of 512 rectified units."""
    from sklearn.neural_network import MLPClassifier

    parts = _split_domains(_equal_sizes(domain_features(sides), sides.seed), sides.seed)
    scaling = Scaling.of(parts[0][0])
    train, tune, report = (scaling.apply(features).astype(np.float32) for features, _ in parts)
    network = MLPClassifier((_HIDDEN,), random_state=sides.seed)
    lowest, since, scores = np.inf, 0, np.zeros(len(report))
    for _ in range(_EPOCHS):
        network.partial_fit(train, parts[0][1], classes=[0, 1])
        error = error_rate(parts[1][1], network.predict(tune))
        since += 1
        if error < lowest:
            lowest, since, scores = error, 0, network.predict_proba(report)[:, 1]
        if since == _PATIENCE:
            break
    return discrimination(parts[2][1], scores, 0.5)


def _part_of(discriminate: Callable[[Sides], Discrimination], name: str, sides: Sides) -> float:
    """Return an attribute, such as `auc`, of a discriminator's result, which is cached."""
    return float(getattr(sides.once(discriminate), name))


for _kind, _title in (("auc", "Disc. AUC"), ("a_proxy", "Disc. A-proxy")):
    for _discriminate, _variant in ((linear, ""), (balanced_linear, "balanced"), (mlp, "mlp")):
        SCORES.add(
            f"disc_{_kind}", _title, Predicts.GAP, -1, variant=_variant, needs=(Data.FEATURES,),
            source="P1, Table 3",
        )(partial(_part_of, _discriminate, _kind))  # fmt: skip


# --- Bag of prototypes: how often each prototype of a reference set is the nearest on the target.
# Tu et al. 2023 (A Bag-of-Prototypes Representation for Dataset-Level Applications), as their
# released code computes it.

PROTOTYPES = Scores()

# Of the released code; the number of starts is the default of scikit-learn before 1.4, with which
# the code was written: 10 starts of k-means++, of which the best is kept.
_K_MEANS = {"max_iter": 100, "random_state": 2022, "n_init": 10}


@dataclass(frozen=True, eq=False)
class Codebook:
    """K-means centroids of a reference set, and the share of its features nearest to each."""

    prototypes: Features
    histogram: Floats


def fit_codebook(features: Features, n_prototypes: int) -> Codebook:
    """Fit prototypes to features by k-means, with the share of features nearest to each."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    means = KMeans(n_prototypes, **_K_MEANS)
    with threadpool_limits(1):  # several threads add up in any order, which changes last bits
        prototypes = means.fit(features).cluster_centers_
    return Codebook(prototypes, bag(features, prototypes))


def bag(features: Features, prototypes: Features) -> Floats:
    """Return the share of datapoints to which each prototype is the nearest."""
    from sklearn.metrics import pairwise_distances_argmin

    nearest = pairwise_distances_argmin(features, prototypes)
    return np.bincount(nearest, minlength=len(prototypes)) / len(features)


def jensen_shannon(p: Floats, q: Floats) -> float:
    """Compute the Jensen-Shannon divergence of two distributions, in nats, without a root."""
    from scipy.special import rel_entr

    middle = (p + q) / 2
    return float((rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2)


def _fit_reference_codebook(sources: Sources) -> Codebook:
    features, size = checked_features(_reference(sources)), sources.options["n_prototypes"]
    if len(features) < size:
        raise NotAvailableError(
            f"the reference set has {len(features)} datapoints, fewer than {size} prototypes"
        )
    return fit_codebook(features, size)


@PROTOTYPES.add(
    "bop_js", "BoP+JS", Predicts.BY_REGRESSION, -1, needs=(Data.FEATURES, Data.REFERENCE),
    fit=_fit_reference_codebook, source="P2, Table 2; Tu et al. 2023",
)  # fmt: skip
def divergence_of_bags(sides: Sides, codebook: Codebook) -> float:
    """Return the Jensen-Shannon divergence of the bags of prototypes of target and reference."""
    features = checked_features(sides.target)
    _check_widths(codebook.prototypes.shape[1], features.shape[1])
    return jensen_shannon(codebook.histogram, bag(features, codebook.prototypes))


# --- Dispersion score: how far apart the means of features are by predicted class (Xie et al. 2023,
# NeurIPS, arXiv 2303.15488). The published score grows with the number of datapoints, so that sets
# of unequal size cannot be compared; the default divides by it, and `as_published` does not.

DISPERSION = Scores()


def dispersion(
    features: npt.NDArray[Any], predicted: npt.NDArray[Any], *, per_row: bool = False
) -> float:
    """Compute the log of the weighted spread between the feature means of predicted classes.

    Features are as they enter the last layer, not normalised; `per_row` divides the spread by their
    number. Xie et al. (2023); common/distance.py of its code, which divides by the number of
    predicted classes minus 1 where the paper has all classes.
    """
    values, classes = np.asarray(features, np.float64), np.unique(predicted)
    if len(classes) < 2:
        raise NotAvailableError("all predictions are of one class")
    mean = values.mean(axis=0)
    spread = 0.0
    for label in classes:
        of_class = values[predicted == label]
        spread += len(of_class) * float(((of_class.mean(axis=0) - mean) ** 2).sum())
    if spread == 0 or not np.ptp(values, axis=0).any():  # constants are not 0 after rounding
        raise NotAvailableError("features have the same mean in every predicted class")
    return float(np.log(spread / (len(classes) - 1) / (len(values) if per_row else 1)))


def _target_dispersion(per_row: bool, sides: Sides) -> float:
    return dispersion(checked_features(sides.target), sides.target.predicted, per_row=per_row)


for _variant, _per_row in (("", True), ("as_published", False)):
    DISPERSION.add(
        "dispersion", "Dispersion", Predicts.BY_REGRESSION, 1, variant=_variant,
        needs=(Data.FEATURES,), source="Xie et al. (2023)",
    )(partial(_target_dispersion, _per_row))  # fmt: skip


# --- Rotation: how well features say by how much an image was rotated. A linear classifier of four
# orientations is fitted on the base, once per model (P1); its accuracy on all images of a target,
# all four orientations of each, is the score.

ROTATION = Scores()
_ORIENTATIONS = np.arange(4)


def fit_rotation_head(features: npt.NDArray[np.float32], seed: int) -> LinearClassifier:
    """Fit a linear classifier of orientations to features of images rotated by all four angles.

    It is fitted on 40 % of the images; its penalty is tuned on 10 %.
    """
    if len(features) < _FEWEST:
        raise InputError(
            f"{len(features)} images are too few to fit a classifier of orientations",
            field="rotation", remedy=f"Give a base of at least {_FEWEST} images",
        )  # fmt: skip
    if not np.isfinite(features).all():
        raise InputError("features of the base are not finite numbers", field="rotation")
    train, tune, _ = (
        (features[rows].reshape(-1, features.shape[2]), np.tile(_ORIENTATIONS, len(rows)))
        for rows in cut_in_three(len(features), seed)
    )
    return fit_linear(train, tune)


def orientation_logits(
    head: LinearClassifier, features: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return the logits of the four orientations for features of rotated images."""
    logits = head.decide(features.reshape(-1, features.shape[-1])).astype(np.float32)
    return logits.reshape(*features.shape[:-1], len(_ORIENTATIONS))


def orientation_accuracy(logits: npt.NDArray[Any]) -> float:
    """Return the share of rotated images whose orientation is recognised."""
    return float((logits.argmax(axis=2) == _ORIENTATIONS).mean())


def orientation_auc(logits: npt.NDArray[Any]) -> float:
    """Return the area under the ROC curve of an orientation against the rest, mean over the four.

    Images are ordered by the softmax of what `orientation_logits` returns.
    """
    from sklearn.metrics import roc_auc_score

    true = np.tile(_ORIENTATIONS, len(logits))
    return float(roc_auc_score(true, softmax(logits.reshape(-1, 4)), multi_class="ovr"))


def _measure_orientations(measure: Callable[[npt.NDArray[Any]], float], sides: Sides) -> float:
    """Return a measure of the logits of the target's orientations; raise if none are usable."""
    logits = sides.target.orientations
    assert logits is not None  # as `missing_inputs` makes sure
    if not len(logits):
        raise NotAvailableError("there are no datapoints")
    if not np.isfinite(logits).all():
        raise NotAvailableError("features are not finite numbers")
    return measure(logits)


for _variant, _measure in (("", orientation_accuracy), ("auc", orientation_auc)):
    ROTATION.add(
        "rotation", "Rotation", Predicts.GAP, 1, variant=_variant, needs=(Data.IMAGES,),
        source="P1, Table 3",
    )(partial(_measure_orientations, _measure))  # fmt: skip
