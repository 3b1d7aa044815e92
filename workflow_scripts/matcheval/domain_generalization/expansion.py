"""What the settings of domain generalisation stand for: blocks, groups, recipes and trainings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Data
from matcheval.datasets.derived import Derivation, part, rest
from matcheval.datasets.suites import Member
from matcheval.domain_generalization import plan as planning
from matcheval.domain_generalization.plan import ERM, Block, DomainGeneralizationSettings, Run
from matcheval.errors import check_known, configuration_error
from matcheval.models import rows
from matcheval.settings import Need, read_settings
from matcheval.study.analysis import Analysis
from matcheval.study.catalogue import Model, TestedModels, TrainedModel
from matcheval.study.checks import check_label_spaces, check_need
from matcheval.study.study import Study
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import Recipe

_ANALYSIS = "domain_generalization"

# DomainBed's recipe, as far as it does not depend on the images.
_RECIPE = {
    "loss": "cross_entropy", "loss_parameter": None, "augmentation": "none", "schedule": "constant",
    "batch_size": 32, "learning_rate": 5e-5, "weight_decay": 0, "train_fraction": 1,
    "optimizer": "adam", "normalization": "channels",
}  # fmt: skip
# Columns that the protocol determines.
_PROTOCOL_COLUMNS = (
    "algorithm", "epochs", "epoch_steps", "keep", "seed", "seeded_by", "train", "train_fraction",
)  # fmt: skip


class PlannedTrainings(Analysis):
    """Analysis whose settings are expanded to blocks of domains, trainings and tests."""

    settings: DomainGeneralizationSettings

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of sources and targets: listed ones, then those that leave a domain out."""
        orders: dict[frozenset[str], tuple[str, ...]] = {}
        return tuple(
            replace(block, sources=orders.setdefault(frozenset(block.sources), block.sources))
            for block in self._list_blocks()
        )

    def _list_blocks(self) -> Iterator[Block]:
        suites = self.study.suites
        for name, block in self.settings.blocks.items():
            members = suites[block.targets].members
            columns = tuple(map(self._table_column, members))
            yield Block(name, "", block.sources, tuple(m.dataset for m in members), columns)
        for design, suite in self.settings.leave_one_out.items():
            domains = suites[suite].datasets
            for target in domains:
                others = tuple(name for name in domains if name != target)
                yield Block(target, design, others, (target,), (target,))

    def _table_column(self, member: Member) -> str:
        """Return the column of tables that a set is averaged in: its group, or its own name."""
        by = (member.group, member.subgroup if self.settings.columns == "subgroup" else "")
        return " ".join(filter(None, by)) or member.dataset

    @cached_property
    def plan(self) -> planning.Plan:
        """Plan of all trainings; it checks the settings, as it may be needed before `check`."""
        settings, study = self.settings, self.study
        if not (settings.blocks or settings.leave_one_out):
            return planning.Plan()
        _check_names(settings, study)
        _check_recipe(settings, study)
        _check_sources(self.blocks, study)
        rate = self.recipe(planning.Group(ERM, 0, {}), 0).learning_rate
        scale = planning.scaling(settings.steps, rate) if settings.scaled else {}
        groups = [
            group
            for name in dict.fromkeys((ERM, *settings.algorithms))
            for group in planning.build_groups(
                name, settings.groups, settings.options.get(name, {}), scale
            )
        ]
        return planning.make_plan(
            study.name, self.blocks, groups, settings.seeds,
            leave_one_out=planning.LEFT_OUT in settings.selection,
        )  # fmt: skip

    def recipe(self, group: planning.Group, seed: int) -> Recipe:
        """Return the recipe of a training, by its group of hyper-parameters and seed."""
        settings = self.settings
        values = {
            **_RECIPE, **settings.recipe, "algorithm": group.algorithm, "seed": seed,
            "keep": "best", "options": {**settings.recipe.get("options", {}), **group.options},
            "epochs": math.ceil(settings.steps / settings.evaluate_every),
            "epoch_steps": settings.evaluate_every,
        }  # fmt: skip
        return Recipe.from_mapping(values, f"{_ANALYSIS}.recipe")

    @cached_property
    def trained(self) -> dict[str, TrainedModel]:
        """Models that the plan trains, by name."""
        return {name: self._trained_model(run) for name, run in self.plan.trained.items()}

    def _trained_model(self, run: Run) -> TrainedModel:
        parts = self.settings.validation_parts
        shared = planning.model_prefix(self.study.name, run.sources)
        recipe = replace(self.recipe(run.group, run.seed), seeded_by=shared)
        return TrainedModel(
            Model(run.model, recipe, rows.ModelSource(run.model, rows.TRAINED)),
            tuple(rest(name, 1, parts, run.seed).name for name in run.sources),
            tuple(part(name, 1, parts, run.seed).name for name in run.sources),
        )

    @property
    def tested_on_targets(self) -> dict[str, TestedModels]:
        """Models and targets to test them on, a job for those of the same sources and algorithm."""
        batches: dict[str, list[Run]] = {}
        for run in self.plan.trained.values():
            batches.setdefault(run.batch, []).append(run)
        return {
            batch: TestedModels(tuple(run.model for run in runs), self.plan.tested[runs[0].sources])
            for batch, runs in batches.items()
        }

    @property
    def derivations(self) -> dict[str, Derivation]:
        """Training and validation part of every source, for every seed, by name."""
        derivations = (
            derive(name, 1, self.settings.validation_parts, seed)
            for name in dict.fromkeys(name for sources in self.plan.runs for name in sources)
            for seed in range(self.settings.seeds)
            for derive in (part, rest)
        )
        return {derivation.name: derivation for derivation in derivations}

    @cached_property
    def scored(self) -> dict[tuple[str, str], Run]:
        """Runs of the models whose accuracies are predicted by scores, by suite and model."""
        settings = self.settings
        if settings.scores is None:
            return {}
        return {
            (settings.blocks[block.name].targets, run.model): run
            for block in self.blocks
            if not block.design
            for run in self.plan.runs[block.sources]
            if run.state == planning.TRAINED
            and run.group.algorithm in (ERM, *settings.scores.algorithms)
        }

    @property
    def tested_on_sources(self) -> dict[str, TestedModels]:
        """Scored models and parts of sources to test them on, in jobs of one seed each."""
        batches: dict[str, dict[str, TrainedModel]] = {}
        for (_, model), run in self.scored.items():
            batches.setdefault(run.source_batch, {})[model] = self.trained[model]
        return {
            batch: TestedModels(tuple(models), (*first.train, *first.validation))
            for batch, models in batches.items()
            for first in [next(iter(models.values()))]
        }

    @property
    def tested(self) -> dict[str, TestedModels]:
        """Models and the domains to test them on: targets and, for scores, sources."""
        return self.tested_on_targets | self.tested_on_sources

    def check(self) -> None:
        """Check names, sources, targets, options and recipe, and plan all trainings."""
        _check_usable(self.settings, self.plan)
        _check_scores(self.settings, self.study)


def _refuse(field: str, problem: str, remedy: str = "") -> NoReturn:
    raise configuration_error(problem, field=f"{_ANALYSIS}.{field}", remedy=remedy)


def _check_usable(settings: DomainGeneralizationSettings, plan: planning.Plan) -> None:
    """Check that each algorithm and selection asked for is possible in some block."""
    states: dict[str, set[str]] = {}
    for run in (run for block in plan.blocks for run in plan.runs[block.sources]):
        states.setdefault(run.group.algorithm, set()).add(run.state)
    for name in settings.algorithms if "algorithms" in settings.model_fields_set else ():
        if states.get(name) == {planning.REFUSED}:
            _refuse(
                "algorithms",
                f"{name} needs two sources, and every block has one: {ALGORITHMS[name].refusal}",
                f"Leave {name} out, or give a block a second source",
            )
    single = all(len(block.sources) == 1 for block in plan.blocks)
    if single and planning.LEFT_OUT in settings.selection:
        _refuse(
            "selection", f"{planning.LEFT_OUT} needs two sources, and every block has one",
            "Leave it out, or give a block a second source",
        )  # fmt: skip


def _check_names(settings: DomainGeneralizationSettings, study: Study) -> None:
    """Check the names of algorithms, their options, and the designs that leave a domain out."""
    drawn = [settings.figure_algorithm] if settings.figure_algorithm is not None else []
    others = [name for name in settings.algorithms if name != ERM]
    for what, names, known, key in (
        ("algorithm", settings.algorithms, ALGORITHMS, "algorithms"),
        *(("algorithm", [name], [*others, ERM], f"options.{name}") for name in settings.options),
        ("algorithm to compare with ERM", drawn, others, "figure_algorithm"),
    ):
        check_known(what, names, known, file="configuration", field=f"{_ANALYSIS}.{key}")
    for name, options in settings.options.items():
        place = f"configuration, {_ANALYSIS}.options.{name}"
        read_settings(ALGORITHMS[name], options, file=place)
    for name, suite in settings.leave_one_out.items():
        if len(study.suites[suite].datasets) < 2:
            problem = f"suite '{suite}' has one set, so that none is left to train on"
            _refuse(f"leave_one_out.{name}", problem)
        if name == "blocks" or name in settings.blocks:
            _refuse("leave_one_out", f"'{name}' is the name of blocks as well", "Rename the design")


def _check_recipe(settings: DomainGeneralizationSettings, study: Study) -> None:
    """Check that models can be trained, and that the recipe sets no column of the protocol."""
    for column in _PROTOCOL_COLUMNS:
        if column in settings.recipe:
            _refuse(
                "recipe", f"'{column}' is determined by the protocol",
                "Set algorithms, seeds, steps, evaluate_every and validation_parts instead",
            )  # fmt: skip
    if study.training is None:
        raise configuration_error(
            "missing: models are to be trained",
            field="training",
            remedy="Say on which device, as in 'training: {device: cpu}'",
        )
    missing = [name for name in ("architecture", "width", "depth") if name not in settings.recipe]
    if missing:
        remedy = "Give them as in a model catalogue (docs/models.md)"
        _refuse("recipe", f"missing: {', '.join(missing)}", remedy)


def _check_sources(blocks: Sequence[Block], study: Study) -> None:
    """Check that sources and targets have images, the same classes and no images in common."""
    for block in blocks:
        place = f"leave_one_out.{block.design}" if block.design else f"blocks.{block.name}"
        names = (*block.sources, *block.targets)
        for name in names:
            check_need(study, name, Need.IMAGES, f"{_ANALYSIS}.{place}")
            if not study.datasets[name].settings.has_one_size:
                raise configuration_error(
                    "its images are files, which may differ in size; training needs one size",
                    field=f"datasets.{name}",
                    remedy="Add 'resize: 32', or another number of pixels, to all sets",
                )
            check_label_spaces(study, f"{_ANALYSIS}.{place}", block.sources[0], name)
        for source in block.sources:
            for name in names:
                own, other = study.datasets[source], study.datasets[name]
                if name != source and (other.kind, other.options) == (own.kind, own.options):
                    _refuse(
                        place, f"'{name}' has the same images as the source '{source}'",
                        "Leave one of them out, or say where its own images are",
                    )  # fmt: skip
            if source in block.targets:
                _refuse(
                    place, f"'{source}' is a source, and a target as well",
                    "Leave it out of the sources, or of the suite",
                )  # fmt: skip


def _check_scores(settings: DomainGeneralizationSettings, study: Study) -> None:
    """Check that algorithms and methods exist, and that inference keeps what methods need."""
    scores = settings.scores
    if scores is None:
        return
    for what, names, known in (
        ("algorithm", scores.algorithms, (ERM, *settings.algorithms)),
        ("method", scores.methods, SCORES),
    ):
        field = f"{_ANALYSIS}.scores.{what}s"
        check_known(what, names, known, file="configuration", field=field)
    if not settings.blocks:
        _refuse("scores", "scores are of blocks, of which there are none", "Leave it out")
    for method, need in ((m, need) for m in scores.methods for need in SCORES[m].needs):
        if need is Data.IMAGES:
            problem = f"'{method}' runs models again over rotated images, which is not done here"
            _refuse("scores.methods", problem, "Leave it out")
        kept = OUTPUTS_FOR.get(need, ())
        if kept and not set(kept) & set(study.inference.outputs):
            raise configuration_error(
                f"'{method}' needs {need.value}",
                field="inference.outputs",
                remedy=f"Add {' or '.join(kept)}",
            )
