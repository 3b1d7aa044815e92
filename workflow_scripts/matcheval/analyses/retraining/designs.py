"""Designs of experiments: which models are trained on what, and tested on what.

To add a kind, write a function like those below, add a line to `_DESIGNS` and one to
`conclusions`, and its keys to the configuration's schema.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from matcheval.datasets.derivations import Derivation, part, rest, union
from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError, unknown
from matcheval.study.catalogue import Model
from matcheval.training.recipe import Recipe

_CONFIG = "configuration"


@dataclass(frozen=True)
class Trained:
    """A model that an experiment trains.

    Attributes
    ----------
    model : Model
        Its name and recipe.
    train, validation : str
        Names of the sets, perhaps derived.
    """

    model: Model
    train: str
    validation: str


@dataclass(frozen=True)
class Trial:
    """One accuracy of an experiment.

    Attributes
    ----------
    base : str
        The study's model that this is a variant of.
    model, dataset : str
        What is run on what; both perhaps the experiment's own.
    variant : str
        How the model was trained, for a reader; `baseline` for the study's own model.
    train : str
        Name of the set it was trained on.
    values : mapping
        The varied values of a grid; empty otherwise.
    """

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A checked experiment: all it makes, by name.

    Attributes
    ----------
    name, kind : str
    pair : Pair
        The study's pair that it is about.
    derivations : mapping
        Its datasets by name, each after those it is made of.
    trained : mapping
        Its models by name.
    trials : tuple of Trial
        Its accuracies, in the order of its table.
    """

    name: str
    kind: str
    pair: Pair
    derivations: Mapping[str, Derivation]
    trained: Mapping[str, Trained]
    trials: tuple[Trial, ...]


class _Design:
    """An experiment in the making."""

    def __init__(
        self, spec: Mapping[str, Any], models: Mapping[str, Model], pair: Pair,
        training: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.spec, self.models, self.pair = spec, models, pair
        self.train, self.validation = training["train"], training["validation"]
        self.derivations: dict[str, Derivation] = {}
        self.trained: dict[str, Trained] = {}
        self.trials: list[Trial] = []

    def derived(self, derivation: Derivation) -> str:
        """Ask for a derived set, and give its name."""
        self.derivations[derivation.name] = derivation
        return derivation.name

    def variant(
        self, base: Model, name: str, train: str, validation: str, recipe: Recipe | None = None
    ) -> str:
        """Ask for a further model, with the recipe of `base` or another, and give its name."""
        recipe = recipe or base.recipe
        assert recipe is not None  # `design_experiment` has refused models without
        self.trained[name] = Trained(base.variant(name, recipe), train, validation)
        return name


def design_experiment(
    name: str,
    spec: Mapping[str, Any],
    *,
    models: Mapping[str, Model],
    pairs: Mapping[str, Pair],
    training: Mapping[str, Any],
) -> Experiment:
    """Work out what an experiment of the configuration trains and tests.

    Parameters
    ----------
    name : str
        Its key in the configuration.
    spec : mapping
        Its block: `kind`, `models`, `pair` and the kind's own keys; the schema has checked their
        types.
    models, pairs : mapping
        The study's.
    training : mapping
        The study's `train` and `validation` sets.

    Raises
    ------
    InputError
        Naming the key and the value: an unknown model or pair, a model that is not trained by a
        recipe, a grid over something that a recipe does not have or with a value that it refuses.
    """
    place = f"experiments.{name}"
    if spec["pair"] not in pairs:
        raise unknown("pair", spec["pair"], pairs, file=_CONFIG, field=f"{place}.pair")
    for model in spec["models"]:
        if model not in models:
            raise unknown("model", model, models, file=_CONFIG, field=f"{place}.models")
        if models[model].recipe is None:
            raise InputError(
                f"model '{model}' is not trained by a recipe, so it has no variants",
                file=_CONFIG,
                field=f"{place}.models",
            )
    if not training:
        raise InputError(
            "there is no training set to derive others from", file=_CONFIG, field="training"
        )
    chosen = {model: models[model] for model in spec["models"]}
    design = _Design(spec, chosen, pairs[spec["pair"]], training)
    try:
        _DESIGNS[spec["kind"]](design)
    except InputError as error:
        raise InputError(str(error), file=_CONFIG, field=place) from error
    return Experiment(
        name, spec["kind"], design.pair, design.derivations, design.trained, tuple(design.trials)
    )


def _half_of_new(design: _Design) -> None:
    """Half of the new set joins the training set; the other half tests (Recht et al., B.2.6)."""
    new, train = design.pair.replication, design.train
    for (base, model), seed in itertools.product(
        design.models.items(), range(design.spec["seeds"])
    ):
        added, tested = (design.derived(part(new, i, 2, seed)) for i in (1, 2))
        joined = design.derived(union(train, added))
        name = design.variant(
            model, f"{base}.and-half-{new}.seed-{seed}", joined, design.validation
        )
        for dataset in (tested, design.pair.original):
            baseline = Trial(base, base, dataset, "baseline", train)
            if baseline not in design.trials:
                design.trials.append(baseline)
            variant = f"half of {new} added, seed {seed}"
            design.trials.append(Trial(base, name, dataset, variant, joined))


def _cross_validation(design: _Design) -> None:
    """Folds of the training set take the place of the test set (Recht et al., B.2.7, C.3.1)."""
    original, train = design.pair.original, design.train
    folds, seed = design.spec["folds"], design.spec["seed"]
    for base, model in design.models.items():
        for dataset in (original, design.pair.replication):
            design.trials.append(Trial(base, base, dataset, "baseline", train))
        for fold in range(1, folds + 1):
            tested = design.derived(part(train, fold, folds, seed))
            others = design.derived(rest(train, fold, folds, seed))
            joined = design.derived(union(others, original))
            name = f"{base}.fold-{fold}-of-{folds}.seed-{seed}"
            design.variant(model, name, joined, tested)
            design.trials.append(Trial(base, name, tested, f"fold {fold} of {folds}", joined))


def _discriminator(design: _Design) -> None:
    """Can a network tell the two sets apart? (Recht et al., B.2.8)."""
    both = (design.pair.original, design.pair.replication)
    options = {key: design.spec[key] for key in ("per_set", "test_fraction", "seed")}
    train, tested = (
        design.derived(Derivation("origins", both, {**options, "role": role}))
        for role in ("train", "test")
    )
    for base, model in design.models.items():
        name = design.variant(model, f"{base}.tells-{train}", train, tested)
        design.trials.append(Trial(base, name, tested, "tells the sets apart", train))


def _grid(design: _Design) -> None:
    """Would other hyper-parameters do better on the new set? (Recht et al., B.2.3)."""
    known = {entry.name for entry in fields(Recipe)}
    values = design.spec["values"]
    for key in values:
        if key not in known:
            raise InputError(
                f"unknown field '{key}'",
                field="values",
                remedy=f"Fields: {', '.join(sorted(known))}",
            )
    for base, model in design.models.items():
        recipe = model.recipe
        assert recipe is not None  # `design_experiment` has refused models without
        rows = [(base, "baseline", {key: getattr(recipe, key) for key in values})]
        for chosen in _combinations(values):
            changed = Recipe.from_mapping(recipe.to_mapping() | chosen)
            if changed == recipe:
                continue
            text = ", ".join(f"{key} {value}" for key, value in chosen.items())
            name = f"{base}.grid." + ".".join(f"{key}-{value}" for key, value in chosen.items())
            design.variant(model, name, design.train, design.validation, changed)
            rows.append((name, text, chosen))
        design.trials += [
            Trial(base, name, dataset, variant, design.train, chosen)
            for name, variant, chosen in rows
            for dataset in (design.pair.original, design.pair.replication)
        ]


def _combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


_DESIGNS: dict[str, Callable[[_Design], None]] = {
    "half_of_new": _half_of_new,
    "cross_validation": _cross_validation,
    "discriminator": _discriminator,
    "grid": _grid,
}

KINDS = tuple(_DESIGNS)
