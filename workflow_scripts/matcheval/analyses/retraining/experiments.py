"""The block `retraining` of the configuration: experiments that train further models."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from matcheval.analyses.retraining.tables import BASELINE, Trial, trial_columns
from matcheval.datasets.derivations import Derivation, part, rest, union
from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError
from matcheval.io.text_tables import accuracy_cells, markdown
from matcheval.settings import (
    Count,
    Integer,
    Name,
    Named,
    OpenFraction,
    Seed,
    Settings,
    SomeNames,
    Unique,
    UniqueItems,
)
from matcheval.study.catalogue import Model
from matcheval.study.study import Study
from matcheval.study.trained_models import TrainedModel
from matcheval.training.recipe import Recipe
from matcheval.training.settings import TrainingSettings

Values = Annotated[tuple[bool | int | float | str, ...], Unique, UniqueItems, Field(min_length=1)]


class ExperimentSettings(Settings):
    """Settings that all kinds of experiment share."""

    kind: str
    models: SomeNames = Field(description="Models of the catalogue, with a recipe, that are varied")
    pair: Name = Field(description="Pair of datasets that the experiment examines")


class HalfOfNew(ExperimentSettings):
    """Half of the new set is added to the training set; the other half is the test set."""

    kind: Literal["half_of_new"]
    seeds: Count = Field(
        description="Number of random divisions of the new set, with seeds 0, 1, ..."
    )


class CrossValidation(ExperimentSettings):
    """Folds of the training set replace the test set."""

    kind: Literal["cross_validation"]
    folds: Annotated[Integer, Field(ge=2)] = Field(
        description="Number of folds of the training set"
    )
    seed: Seed = Field(description="Seed of the division into folds")


class Discriminator(ExperimentSettings):
    """A network is trained to distinguish the two datasets of a pair."""

    kind: Literal["discriminator"]
    per_set: Annotated[Integer, Field(ge=2)] = Field(description="Number of images of each dataset")
    test_fraction: OpenFraction = Field(
        description="Fraction of these images that is held out for testing"
    )
    seed: Seed = Field(description="Seed of the random choice of images")


class Grid(ExperimentSettings):
    """Models are trained with every combination of the given hyper-parameters."""

    kind: Literal["grid"]
    values: Annotated[dict[str, Values], Field(min_length=1)] = Field(
        description="Values to try, by field of the recipe"
    )


Experiment = Annotated[
    HalfOfNew | CrossValidation | Discriminator | Grid, Field(discriminator="kind")
]


class RetrainingSettings(Settings):
    """Experiments that train further models."""

    experiments: Named[Experiment] = Field({}, description="Experiments, by name")


_CONFIG = "configuration"


@dataclass(frozen=True)
class ExperimentDesigns:
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


def design_experiment(name: str, settings: ExperimentSettings, study: Study) -> ExperimentDesigns:
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
    return ExperimentDesigns(
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


_TITLES = {
    "half_of_new": "Half of the new set added to the training set",
    "cross_validation": "Folds of the training set as test sets",
    "discriminator": "Telling the two sets apart",
    "grid": "Other hyper-parameters",
}


def write_page(table: pd.DataFrame, original: str, replication: str) -> str:
    """Format the page of an experiment as Markdown: title, findings and table."""
    kind = table["kind"].iloc[0]
    parts = [f"# {_TITLES[kind]}: {table['experiment'].iloc[0]}\n"]
    for base, rows in table.groupby("base", sort=False):
        lines = _FINDINGS[kind](rows, original, replication)
        parts.append("\n".join([f"**{base}**", "", *(f"- {line}" for line in lines), ""]))
    return "\n".join([*parts, markdown(trial_columns(table))])


def _half_of_new_of_conclusions(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    baselines = rows[rows["variant"] == BASELINE].set_index("test")
    lines = []
    for _, row in rows[rows["variant"] != BASELINE].iterrows():
        base = baselines.loc[row["test"]]
        where = original if row["test"] == original else f"the other half of {replication}"
        lines.append(
            f"{row['variant']}: {_percent(row)} % on {where}, {_percent(base)} % without "
            f"({_points(row['accuracy'] - base['accuracy'])}; n = {row['n']:,})"
        )
    return lines


def _cross_validation_of_conclusions(
    rows: pd.DataFrame, original: str, replication: str
) -> list[str]:
    folds = rows[rows["variant"] != BASELINE]["accuracy"]
    base = rows[rows["variant"] == BASELINE].set_index("test")["accuracy"]
    drop = base[original] - base[replication]
    return [
        f"{len(folds)} folds: {100 * folds.min():.1f} to {100 * folds.max():.1f} %, mean "
        f"{100 * folds.mean():.1f} %, standard deviation {100 * folds.std(ddof=1):.1f} points",
        f"{original} {100 * base[original]:.1f} %, {replication} {100 * base[replication]:.1f} %: "
        f"the drop of {100 * drop:.1f} points is {_times(drop, folds.max() - folds.min())} the "
        "folds' range",
    ]


def _discriminator_of_conclusions(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    (row,) = (row for _, row in rows.iterrows())
    half = row["accuracy_low"] <= 0.5 <= row["accuracy_high"]
    verdict = (
        "contains 50 %: no difference found" if half else "does not contain 50 %: the sets differ"
    )
    (accuracy,) = accuracy_cells(rows, "")
    return [
        f"{accuracy} % of {row['n']:,} images are correctly attributed to {original} or "
        f"{replication}; the interval {verdict}"
    ]


def _grid_of_conclusions(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    on_original, on_new = (
        dict(zip(chosen["model"], chosen["accuracy"].astype(float), strict=True))
        for chosen in (rows[rows["test"] == name] for name in (original, replication))
    )
    values = {row["model"]: json.loads(row["values"]) for _, row in rows.iterrows()}
    base = str(rows["base"].iloc[0])
    best, found = max(on_new, key=on_new.__getitem__), max(on_original, key=on_original.__getitem__)
    return [
        f"best on {replication}: {100 * on_new[best]:.1f} % ({_values_text(values[best])}), "
        f"{_points(on_new[best] - on_new[base])} relative to the baseline's "
        f"{100 * on_new[base]:.1f} %; chosen by its accuracy on this set, which is therefore too "
        "high",
        f"best on {original}: {_values_text(values[found])}, with {100 * on_new[found]:.1f} % on "
        f"{replication} ({_points(on_new[found] - on_new[base])} relative to the baseline)",
        *_borders(values, best),
    ]


def _borders(values: Mapping[str, Mapping[str, Any]], best: str) -> list[str]:
    """Name the best values that lie at the border of the grid."""
    at_border = []
    for key, value in values[best].items():
        tried = sorted({v[key] for v in values.values()})
        if isinstance(value, str) or len(tried) < 3:
            continue
        if value in (tried[0], tried[-1]):
            at_border.append(f"{key} {value}")
    if not at_border:
        return []
    return [f"at the border of the grid, so that the best may lie beyond: {', '.join(at_border)}"]


def _values_text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _percent(row: "pd.Series[Any]") -> str:
    return accuracy_cells(pd.DataFrame([row]), "")[0]


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f} points".replace("-", "−")


def _times(drop: float, spread: float) -> str:
    return f"{drop / spread:.1f} times" if spread > 0 else "against no spread of"


_FINDINGS: dict[str, Callable[[pd.DataFrame, str, str], list[str]]] = {
    "half_of_new": _half_of_new_of_conclusions,
    "cross_validation": _cross_validation_of_conclusions,
    "discriminator": _discriminator_of_conclusions,
    "grid": _grid_of_conclusions,
}
