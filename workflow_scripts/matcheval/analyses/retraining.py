"""Retraining: experiments that train further models, on datasets derived from the study's.

To add one, add a class with a line in `EXPERIMENTS`, and to `RetrainingSettings`.
"""

import itertools
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from matcheval import settings as types
from matcheval.datasets.derived import Derivation, part, rest, union
from matcheval.datasets.suites import Pair
from matcheval.errors import ErrorCollector, InputError, configuration_error
from matcheval.io.tables import CONFIDENCE_LEVEL, TableSchema, accuracy, text
from matcheval.io.text_tables import accuracy_cells, markdown, with_interval
from matcheval.predictions.files import read_predictions
from matcheval.settings import Count, Integer, Name, Seed, Settings
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.catalogue import Model, TrainedModel
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis
from matcheval.training.recipe import Recipe

if TYPE_CHECKING:
    from matcheval.study.study import Study


@dataclass(frozen=True)
class Trial:
    """One model's test on one dataset, and how the model was trained: a row of an experiment."""

    base: str
    model: str
    dataset: str
    variant: str
    train: str
    values: Mapping[str, Any] = field(default_factory=dict)


BASELINE = "baseline"

SCHEMA = TableSchema(
    "results of an experiment",
    text("experiment", "name of the experiment"),
    text("kind", "kind of the experiment"),
    text("base", "the study's model that the model is a variant of"),
    text("variant", "how it was trained; baseline: as in the study"),
    text("model", "name of the model that was tested"),
    text("train", "name of its training set"),
    text("test", "name of its test set"),
    text("values", "varied fields of the recipe, a JSON object"),
    *accuracy("", "size of the test set"),
    CONFIDENCE_LEVEL,
    shown={
        "Model": "{base}", "Variant": "{variant}", "Tested on": "{test}", "n": "{n:,}",
        "Accuracy (%) [{level} CI]": with_interval("accuracy"),
    },
)  # fmt: skip


def tabulate(
    experiment: str, kind: str, trials: Sequence[Trial], files: Sequence[str], pair: Pair,
    *, confidence: float,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate the accuracy of each trial of an experiment, from its file of predictions."""
    rows, problems = [], ErrorCollector()
    for trial, file in zip(trials, files, strict=True):
        with problems.collected():
            rows.append({
                **vars(trial), "experiment": experiment, "kind": kind, "test": trial.dataset,
                "values": json.dumps(trial.values), "confidence": confidence,
                **accuracy_columns("", read_predictions(file).correct, confidence),
            })  # fmt: skip
    problems.raise_any()
    return pd.DataFrame(rows, columns=SCHEMA.names)


Values = types.SomeUnique[bool | int | float | str]


class Experiment:
    """A checked experiment: the datasets to derive, the models to train, and the trials."""

    def __init__(self, settings: "ExperimentSettings", study: "Study", place: str) -> None:
        """Design the experiment for each of its models; `place` names its settings in errors."""
        if study.training is None:
            problem = "missing: experiments derive datasets from the training set"
            raise configuration_error(problem, field="training")
        self.kind, self.pair = settings.kind, study.pairs[settings.pair]
        self.validation, self._train = study.training.validation_sets, study.training.train
        self.derivations: dict[str, Derivation] = {}
        self.trained: dict[str, TrainedModel] = {}
        self.trials: list[Trial] = []
        for name in settings.models:
            model = study.models[name]
            if model.recipe is None:
                problem = f"model '{name}' is not trained by a recipe"
                raise configuration_error(problem, field=f"{place}.models")
            try:
                settings.design(model, model.recipe, self)
            except InputError as error:
                raise configuration_error(str(error), field=place) from error

    def add_dataset(self, derivation: Derivation) -> str:
        """Add a dataset to derive; return its name."""
        self.derivations[derivation.name] = derivation
        return derivation.name

    def training_sets(self, base: Model) -> tuple[str, ...]:
        """Return the names of a model's own training sets or, if it has none, of the study's."""
        return base.train or self._train

    def only_training_set(self, base: Model) -> str:
        """Return the name of a model's training set; refuse a model that has several."""
        if len(sets := self.training_sets(base)) > 1:
            names, remedy = ", ".join(sets), "Name models that are trained on one set"
            problem = f"model '{base.name}' is trained on several sets ({names}); one is changed"
            raise InputError(problem, field="models", remedy=remedy)
        return sets[0]

    def add_model(self, model: Model, sets: tuple[str, ...], validation: tuple[str, ...]) -> str:
        """Add a model to train, with its training and validation sets; return its name."""
        self.trained[model.name] = TrainedModel(model, sets, validation)
        return model.name


class ExperimentSettings(Settings):
    """Settings that all kinds of experiment share."""

    title: ClassVar[str]
    kind: str
    models: types.SomeUnique[types.ModelName] = Field(
        description="Models of the catalogue, with a recipe, that are varied"
    )
    pair: Annotated[Name, types.Ref("pair", types.Need.IMAGES)] = Field(
        description="Pair of datasets that the experiment examines"
    )

    @abstractmethod
    def design(self, base: Model, recipe: Recipe, experiment: Experiment) -> None:
        """Add to `experiment` the datasets, models and trials for one of the study's models."""

    @staticmethod
    @abstractmethod
    def findings(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
        """Return sentences on what the accuracies of a model and its variants show."""


class HalfOfNew(ExperimentSettings):
    """Half of the new set is added to the training set; the other half is the test set."""

    title: ClassVar[str] = "Half of the new set added to the training set"
    kind: Literal["half_of_new"]
    seeds: Count = Field(description="Number of random divisions of the new set: seeds 0, 1, ...")

    def design(self, base: Model, recipe: Recipe, experiment: Experiment) -> None:
        """Add half of the new set to the training set, test on the rest (Recht et al., B.2.6)."""
        new, train = experiment.pair.replication, experiment.only_training_set(base)
        for seed in range(self.seeds):
            added, tested = (experiment.add_dataset(part(new, i, 2, seed)) for i in (1, 2))
            joined = experiment.add_dataset(union(train, added))
            name = f"{base.name}.and-half-{new}.seed-{seed}"
            experiment.add_model(base.variant(name, recipe), (joined,), experiment.validation)
            for dataset in (tested, experiment.pair.original):
                baseline = Trial(base.name, base.name, dataset, BASELINE, train)
                if baseline not in experiment.trials:
                    experiment.trials.append(baseline)
                variant = f"half of {new} added, seed {seed}"
                experiment.trials.append(Trial(base.name, name, dataset, variant, joined))

    @staticmethod
    def findings(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
        """Say how each variant's accuracy differs from the baseline's on the same test set."""
        baselines = rows[rows["variant"] == BASELINE].set_index("test")
        lines = []
        for _, row in rows[rows["variant"] != BASELINE].iterrows():
            base = baselines.loc[row["test"]]
            where = original if row["test"] == original else f"the other half of {replication}"
            varied, unvaried = accuracy_cells(pd.DataFrame([row, base]))
            lines.append(
                f"{row['variant']}: {varied} % on {where}, {unvaried} % without "
                f"({_format_points(row['accuracy'] - base['accuracy'])}; n = {row['n']:,})"
            )
        return lines


class CrossValidation(ExperimentSettings):
    """Folds of the training set replace the test set."""

    title: ClassVar[str] = "Folds of the training set as test sets"
    kind: Literal["cross_validation"]
    folds: Annotated[Integer, Field(ge=2, description="Number of folds of the training set")]
    seed: Seed = Field(description="Seed of the division into folds")

    def design(self, base: Model, recipe: Recipe, experiment: Experiment) -> None:
        """Test on each fold, train on the others and the original (Recht et al., B.2.7, C.3.1)."""
        train, original = experiment.only_training_set(base), experiment.pair.original
        for dataset in experiment.pair.datasets.values():
            experiment.trials.append(Trial(base.name, base.name, dataset, BASELINE, train))
        for fold in range(1, self.folds + 1):
            tested = experiment.add_dataset(part(train, fold, self.folds, self.seed))
            others = experiment.add_dataset(rest(train, fold, self.folds, self.seed))
            joined = experiment.add_dataset(union(others, original))
            name = f"{base.name}.fold-{fold}-of-{self.folds}.seed-{self.seed}"
            experiment.add_model(base.variant(name, recipe), (joined,), (tested,))
            variant = f"fold {fold} of {self.folds}"
            experiment.trials.append(Trial(base.name, name, tested, variant, joined))

    @staticmethod
    def findings(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
        """Compare the drop in accuracy between the pair's sets with the range over the folds."""
        folds = rows[rows["variant"] != BASELINE]["accuracy"]
        base = rows[rows["variant"] == BASELINE].set_index("test")["accuracy"]
        old, new, least, most = base[original], base[replication], folds.min(), folds.max()
        spread = most - least
        times = f"{(old - new) / spread:.1f} times" if spread > 0 else "against no spread of"
        return [
            f"{len(folds)} folds: {100 * least:.1f} to {100 * most:.1f} %, mean "
            f"{100 * folds.mean():.1f} %, standard deviation {100 * folds.std(ddof=1):.1f} points",
            f"{original} {100 * old:.1f} %, {replication} {100 * new:.1f} %: the drop of "
            f"{100 * (old - new):.1f} points is {times} the folds' range",
        ]


class Discriminator(ExperimentSettings):
    """A network is trained to distinguish the two datasets of a pair."""

    title: ClassVar[str] = "Telling the two sets apart"
    kind: Literal["discriminator"]
    per_set: Annotated[Integer, Field(ge=2)] = Field(description="Number of images of each dataset")
    test_fraction: types.OpenFraction = Field(
        description="Fraction of these images that is held out for testing"
    )
    seed: Seed = Field(description="Seed of the random choice of images")

    def design(self, base: Model, recipe: Recipe, experiment: Experiment) -> None:
        """Train a network to distinguish the two sets of the pair (Recht et al., B.2.8)."""
        sets = (experiment.pair.original, experiment.pair.replication)
        options = self.model_dump(include={"per_set", "test_fraction", "seed"})
        train, tested = (
            experiment.add_dataset(Derivation("origins", sets, options | {"role": role}))
            for role in ("train", "test")
        )
        model = base.variant(f"{base.name}.tells-{train}", recipe)
        name = experiment.add_model(model, (train,), (tested,))
        experiment.trials.append(Trial(base.name, name, tested, "tells the sets apart", train))

    @staticmethod
    def findings(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
        """Say how well the sets are told apart, and whether that is beyond chance."""
        row, (accuracy,) = rows.iloc[0], accuracy_cells(rows)
        half = row["accuracy_low"] <= 0.5 <= row["accuracy_high"]
        no, yes = "contains 50 %: no difference found", "does not contain 50 %: the sets differ"
        return [
            f"{accuracy} % of {row['n']:,} images are correctly attributed to {original} or "
            f"{replication}; the interval {no if half else yes}"
        ]


class Grid(ExperimentSettings):
    """Models are trained with every combination of some hyper-parameters."""

    title: ClassVar[str] = "Other hyper-parameters"
    kind: Literal["grid"]
    values: Annotated[dict[str, Values], Field(min_length=1)] = Field(
        description="Values to try, by field of the recipe"
    )

    def design(self, base: Model, recipe: Recipe, experiment: Experiment) -> None:
        """Train with every other combination of hyper-parameters (Recht et al., B.2.3)."""
        train, rows = experiment.training_sets(base), []
        for combination in itertools.product(*self.values.values()):
            chosen: dict[str, Any] = dict(zip(self.values, combination, strict=True))
            changed = Recipe.from_mapping(recipe.to_mapping() | chosen)
            if changed != recipe:
                values = ".".join(f"{key}-{value}" for key, value in chosen.items())
                model = base.variant(f"{base.name}.grid.{values}", changed)
                name = experiment.add_model(model, train, experiment.validation)
                rows.append((name, _format_values(chosen), chosen))
        own = {key: getattr(recipe, key) for key in self.values}
        experiment.trials += [
            Trial(base.name, name, dataset, variant, "+".join(train), chosen)
            for name, variant, chosen in [(base.name, BASELINE, own), *rows]
            for dataset in (experiment.pair.original, experiment.pair.replication)
        ]

    @staticmethod
    def findings(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
        """Say which hyper-parameters are best on each set, and if the new set's are at a border."""
        accuracies = rows.pivot_table("accuracy", "model", "test", sort=False)
        on_new, base = accuracies[replication], rows["base"].iloc[0]
        best, best_on_old = str(on_new.idxmax()), str(accuracies[original].idxmax())
        values = dict(zip(rows["model"], map(json.loads, rows["values"]), strict=True))
        texts = {model: _format_values(values[model]) for model in values}
        gains = {
            model: _format_points(on_new[model] - on_new[base]) for model in (best, best_on_old)
        }
        lines = [
            f"best on {replication}: {100 * on_new[best]:.1f} % ({texts[best]}), {gains[best]} "
            f"relative to the baseline's {100 * on_new[base]:.1f} %; chosen by its accuracy on "
            "this set, which is therefore too high",
            f"best on {original}: {texts[best_on_old]}, with {100 * on_new[best_on_old]:.1f} % on "
            f"{replication} ({gains[best_on_old]} relative to the baseline)",
        ]
        at_border = []
        for key, value in values[best].items():
            tried = sorted({v[key] for v in values.values()})
            if len(tried) > 2 and not isinstance(value, str) and value in (tried[0], tried[-1]):
                at_border.append(f"{key} {value}")
        border = "at the border of the grid, so that the best may lie beyond: "
        return [*lines, border + ", ".join(at_border)] if at_border else lines


EXPERIMENTS: dict[str, type[ExperimentSettings]] = {
    "half_of_new": HalfOfNew, "cross_validation": CrossValidation, "discriminator": Discriminator,
    "grid": Grid,
}  # fmt: skip


class RetrainingSettings(Settings):
    """Experiments that train further models."""

    experiments: types.Named[
        Annotated[HalfOfNew | CrossValidation | Discriminator | Grid, Field(discriminator="kind")]
    ] = Field({}, description="Experiments, by name")


def write_page(table: pd.DataFrame, *trials_and_pair: Any) -> str:
    """Format the Markdown page of an experiment: title, findings on the pair, and table."""
    kind, pair = EXPERIMENTS[table["kind"].iloc[0]], trials_and_pair[-1]
    parts = [f"# {kind.title}: {table['experiment'].iloc[0]}\n"]
    for base, rows in table.groupby("base", sort=False):
        lines = kind.findings(rows, pair.original, pair.replication)
        parts.append("\n".join([f"**{base}**", "", *(f"- {line}" for line in lines), ""]))
    return "\n".join([*parts, markdown(SCHEMA.text_columns(table))])


def read_trials(
    *, experiment: str, kind: str, trials: Sequence[Trial], files: Sequence[str], pair: Pair
) -> tuple[str, str, Sequence[Trial], Sequence[str], Pair]:
    """Return the arguments as a tuple, for `tabulate` and `write_page`; no file is read yet."""
    return experiment, kind, trials, files, pair


def _format_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _format_points(difference: float) -> str:
    """Format a difference of accuracies, in fractions, as percentage points."""
    return f"{100 * difference:+.1f} points".replace("-", "−")


class Retraining(TableAnalysis):
    """Train and evaluate the models of the configured experiments."""

    name: ClassVar[str] = "retraining"
    per = "experiment"
    read = read_trials
    caption: ClassVar[str] = (
        "Accuracies of the models of an experiment, with Clopper-Pearson intervals, and "
        "conclusions. Experiments follow sections B.2 and C.3 of Recht, Roelofs, Schmidt & "
        "Shankar (2019), arXiv 1902.10811."
    )
    Settings: ClassVar[type[RetrainingSettings]] = RetrainingSettings
    settings: RetrainingSettings

    def __init__(self, settings: RetrainingSettings, study: "Study") -> None:
        super().__init__(settings, study)
        self.result = replace(self.result, suffixes=(".parquet", ".csv", ".md"))

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The designed experiments, by name."""
        return {
            name: Experiment(settings, self.study, self.field("experiments", name))
            for name, settings in self.settings.experiments.items()
        }

    def check(self) -> None:
        """Check the experiments by designing them, which refuses unsuitable models."""
        _ = self.experiments

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """The datasets that experiments derive for training or testing, by name."""
        return {k: v for e in self.experiments.values() for k, v in e.derivations.items()}

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """The models that experiments train, by name."""
        return {k: v for e in self.experiments.values() for k, v in e.trained.items()}

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the prediction files of all trials of an experiment."""
        trials = self.experiments[wildcards.experiment].trials
        files = (self.study.results_inputs(trial.dataset, [trial.model]) for trial in trials)
        return list(dict.fromkeys(itertools.chain.from_iterable(files)))

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_trials` for an experiment."""
        experiment = self.experiments[wildcards.experiment]
        trials, predictions_file = experiment.trials, self.study.predictions_file
        return {
            "experiment": wildcards.experiment, "kind": experiment.kind,
            "trials": [asdict(trial) for trial in trials],
            "files": [predictions_file(trial.dataset, trial.model) for trial in trials],
            "pair": vars(experiment.pair),
        }  # fmt: skip
