"""Designs of experiments: which models are trained and tested on which datasets.

To add a kind of experiment, add a class in `settings`, a function like those below with a line in
`_DESIGNS`, and a function in `conclusions` with a line in `_FINDINGS`.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from matcheval.analyses.retraining.settings import ExperimentSettings
from matcheval.analyses.retraining.trials import Trial
from matcheval.datasets.derived import Derivation, part, rest, union
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.study.catalogue import Model
from matcheval.study.study import Study
from matcheval.study.trained_models import TrainedModel
from matcheval.training.recipe import Recipe
from matcheval.training.settings import TrainingSettings

_CONFIG = "configuration"


@dataclass(frozen=True)
class Experiment:
    """A checked experiment: the datasets it derives, the models it trains and its trials."""

    name: str
    kind: str
    pair: Pair
    derivations: Mapping[str, Derivation]
    trained: Mapping[str, TrainedModel]
    trials: tuple[Trial, ...]


class _Design:
    """An experiment that is being designed."""

    def __init__(
        self, settings: Any, models: Mapping[str, Model], pair: Pair, training: TrainingSettings
    ) -> None:
        self.settings, self.models, self.pair = settings, models, pair
        self.validation = training.validation_sets
        self._train = training.train
        self.derivations: dict[str, Derivation] = {}
        self.trained: dict[str, TrainedModel] = {}
        self.trials: list[Trial] = []

    def derived(self, derivation: Derivation) -> str:
        """Add a derived dataset."""
        self.derivations[derivation.name] = derivation
        return derivation.name

    def sets_of(self, base: str) -> tuple[str, ...]:
        """Return the names of a model's training sets."""
        return self.models[base].train or self._train

    def set_of(self, base: str) -> str:
        """Return the name of a model's only training set."""
        train, *others = self.sets_of(base)
        if others:
            raise InputError(
                f"model '{base}' is trained on several sets ({', '.join((train, *others))}), and "
                "this experiment changes one",
                field="models",
                remedy="Name models that are trained on one set",
            )
        return train

    def variant(
        self,
        base: Model,
        name: str,
        train: tuple[str, ...],
        validation: tuple[str, ...],
        recipe: Recipe | None = None,
    ) -> str:
        """Add a model to train."""
        recipe = recipe or base.recipe
        assert recipe is not None  # `design_experiment` refuses models without one
        self.trained[name] = TrainedModel(base.variant(name, recipe), train, validation)
        return name


def design_experiment(name: str, settings: ExperimentSettings, study: Study) -> Experiment:
    """Determine what an experiment of the configuration trains and tests."""
    place = f"retraining.experiments.{name}"
    study.check_pair(settings.pair, f"{place}.pair")
    study.check_models(settings.models, f"{place}.models")
    pair = study.pairs[settings.pair]
    for dataset in pair.datasets.values():
        study.check_dataset(dataset, f"{place}.pair", images=True)
    for model in settings.models:
        if study.models[model].recipe is None:
            raise InputError(
                f"model '{model}' is not trained by a recipe, so that it cannot be retrained",
                file=_CONFIG,
                field=f"{place}.models",
            )
    if study.training is None:
        raise InputError(
            "missing: experiments derive datasets from the training set",
            file=_CONFIG,
            field="training",
        )
    chosen = {model: study.models[model] for model in settings.models}
    design = _Design(settings, chosen, pair, study.training)
    try:
        _DESIGNS[settings.kind](design)
    except InputError as error:
        raise InputError(str(error), file=_CONFIG, field=place) from error
    return Experiment(
        name, settings.kind, pair, design.derivations, design.trained, tuple(design.trials)
    )


def _half_of_new(design: _Design) -> None:
    """Add half of the new set to the training set, test on the other half (Recht et al., B.2.6)."""
    new = design.pair.replication
    for (base, model), seed in itertools.product(
        design.models.items(), range(design.settings.seeds)
    ):
        train = design.set_of(base)
        added, tested = (design.derived(part(new, i, 2, seed)) for i in (1, 2))
        joined = design.derived(union(train, added))
        name = design.variant(
            model, f"{base}.and-half-{new}.seed-{seed}", (joined,), design.validation
        )
        for dataset in (tested, design.pair.original):
            baseline = Trial(base, base, dataset, "baseline", train)
            if baseline not in design.trials:
                design.trials.append(baseline)
            variant = f"half of {new} added, seed {seed}"
            design.trials.append(Trial(base, name, dataset, variant, joined))


def _cross_validation(design: _Design) -> None:
    """Test on folds of the training set instead of the test set (Recht et al., B.2.7, C.3.1)."""
    original = design.pair.original
    folds, seed = design.settings.folds, design.settings.seed
    for base, model in design.models.items():
        train = design.set_of(base)
        for dataset in (original, design.pair.replication):
            design.trials.append(Trial(base, base, dataset, "baseline", train))
        for fold in range(1, folds + 1):
            tested = design.derived(part(train, fold, folds, seed))
            others = design.derived(rest(train, fold, folds, seed))
            joined = design.derived(union(others, original))
            name = f"{base}.fold-{fold}-of-{folds}.seed-{seed}"
            design.variant(model, name, (joined,), (tested,))
            design.trials.append(Trial(base, name, tested, f"fold {fold} of {folds}", joined))


def _discriminator(design: _Design) -> None:
    """Train a network to distinguish the two sets of the pair (Recht et al., B.2.8)."""
    both = (design.pair.original, design.pair.replication)
    options = {key: getattr(design.settings, key) for key in ("per_set", "test_fraction", "seed")}
    train, tested = (
        design.derived(Derivation("origins", both, {**options, "role": role}))
        for role in ("train", "test")
    )
    for base, model in design.models.items():
        name = design.variant(model, f"{base}.tells-{train}", (train,), (tested,))
        design.trials.append(Trial(base, name, tested, "tells the sets apart", train))


def _grid(design: _Design) -> None:
    """Train with other hyper-parameters (Recht et al., B.2.3)."""
    known = {entry.name for entry in fields(Recipe)}
    values = design.settings.values
    for key in values:
        if key not in known:
            raise InputError(
                f"unknown field '{key}'",
                field="values",
                remedy=f"Fields: {', '.join(sorted(known))}",
            )
    for base, model in design.models.items():
        recipe, train = model.recipe, design.sets_of(base)
        assert recipe is not None  # `design_experiment` refuses models without one
        rows = [(base, "baseline", {key: getattr(recipe, key) for key in values})]
        for chosen in _combinations(values):
            changed = Recipe.from_mapping(recipe.to_mapping() | chosen)
            if changed == recipe:
                continue
            text = ", ".join(f"{key} {value}" for key, value in chosen.items())
            name = f"{base}.grid." + ".".join(f"{key}-{value}" for key, value in chosen.items())
            design.variant(model, name, train, design.validation, changed)
            rows.append((name, text, chosen))
        design.trials += [
            Trial(base, name, dataset, variant, "+".join(train), chosen)
            for name, variant, chosen in rows
            for dataset in (design.pair.original, design.pair.replication)
        ]


def _combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


_DESIGNS: dict[str, Callable[[_Design], None]] = {
    "half_of_new": _half_of_new,
    "cross_validation": _cross_validation,
    "discriminator": _discriminator,
    "grid": _grid,
}
