"""What the settings of domain generalisation stand for: blocks, groups, recipes and trainings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from matcheval.datasets.derivations import Derivation, part, rest
from matcheval.datasets.suites import Member, Suite
from matcheval.domain_generalization.plan import (
    DEFAULT_RECIPE,
    PROTOCOL_COLUMNS,
    REFUSED,
    Block,
    Group,
    Plan,
    Run,
    groups_of,
    make_plan,
    name_of_sources,
    recipe_values,
    scaling,
)
from matcheval.domain_generalization.settings import ERM, LEFT_OUT, DomainGeneralizationSettings
from matcheval.errors import InputError, check_known
from matcheval.models.rows import TRAINED, ModelSource
from matcheval.settings import read_settings
from matcheval.study.catalogue import Model
from matcheval.study.checks import check_label_spaces
from matcheval.study.trained_models import TrainedModel
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import Recipe

if TYPE_CHECKING:
    from matcheval.study.study import Study


class Expansion:
    """The blocks and trainings of a study."""

    def __init__(
        self, study: str, settings: DomainGeneralizationSettings, suites: Mapping[str, Suite]
    ) -> None:
        self._study, self._settings, self._suites = study, settings, suites

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks: those of their own, then those of designs."""
        orders: dict[frozenset[str], tuple[str, ...]] = {}
        return tuple(
            replace(block, sources=orders.setdefault(frozenset(block.sources), block.sources))
            for block in self._blocks()
        )

    def _blocks(self) -> Iterator[Block]:
        for name, block in self._settings.blocks.items():
            members = self._suites[block.targets].members
            yield Block(
                name, "", block.sources, tuple(member.dataset for member in members),
                tuple(map(self._column, members)),
            )  # fmt: skip
        for design, suite in self._settings.leave_one_out.items():
            domains = self._suites[suite].datasets
            for target in domains:
                others = tuple(name for name in domains if name != target)
                yield Block(target, design, others, (target,), (target,))

    def _column(self, member: Member) -> str:
        """What a set of a suite is averaged with: its group, perhaps with its subgroup, or none."""
        by = (member.group, member.subgroup if self._settings.columns == "subgroup" else "")
        return " ".join(filter(None, by)) or member.dataset

    @cached_property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms, ERM first."""
        return tuple(dict.fromkeys((ERM, *self._settings.algorithms)))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups of hyper-parameters."""
        settings = self._settings
        rate = self.recipe(Group(ERM, 0, {}), 0).learning_rate
        scale = scaling(settings.steps, rate) if settings.scaled else {}
        return tuple(
            group
            for name in self.algorithms
            for group in groups_of(
                name, settings.groups, settings.group_seed, settings.options.get(name, {}), scale
            )
        )

    @cached_property
    def plan(self) -> Plan:
        """All trainings."""
        if not self.blocks:
            return Plan((), {})
        return make_plan(
            self._study, self.blocks, self.groups, self._settings.seeds,
            leave_one_out=LEFT_OUT in self._settings.selection,
        )  # fmt: skip

    def recipe(self, group: Group, seed: int) -> Recipe:
        """Return the recipe of a training."""
        settings = self._settings
        epochs = math.ceil(settings.steps / settings.evaluate_every)
        values = recipe_values(settings.recipe, group, seed, epochs, settings.evaluate_every)
        return Recipe.from_mapping(values, "domain_generalization.recipe")

    def trained(self, run: Run, plan_file: str) -> TrainedModel:
        """Return the model of a run."""
        parts = self._settings.validation_parts
        shared = name_of_sources(self._study, run.sources)
        recipe = replace(self.recipe(run.group, run.seed), seeded_by=shared)
        return TrainedModel(
            Model(run.model, recipe, ModelSource(run.model, TRAINED)),
            tuple(rest(name, 1, parts, run.seed).name for name in run.sources),
            tuple(part(name, 1, parts, run.seed).name for name in run.sources),
            plan_file,
        )

    @property
    def derivations(self) -> dict[str, Derivation]:
        """Both parts of every source, for every seed."""
        sources = dict.fromkeys(name for key in self.plan.runs for name in key)
        found = (
            derive(name, 1, self._settings.validation_parts, seed)
            for name in sources
            for seed in range(self._settings.seeds)
            for derive in (part, rest)
        )
        return {each.name: each for each in found}


_FILE, _ANALYSIS = "configuration", "domain_generalization"


def check_names(settings: "DomainGeneralizationSettings", study: "Study") -> None:
    """Check the names of algorithms, suites and designs."""
    field = f"{_ANALYSIS}.algorithms"
    check_known("algorithm", settings.algorithms, ALGORITHMS, file=_FILE, field=field)
    used = dict.fromkeys((*settings.algorithms, ERM))
    for name in settings.options:
        check_known("algorithm", [name], used, file=_FILE, field=f"{_ANALYSIS}.options.{name}")
    if settings.figure_algorithm is not None:
        check_known(
            "algorithm to compare with ERM",
            [settings.figure_algorithm],
            [name for name in settings.algorithms if name != ERM],
            file=_FILE,
            field=f"{_ANALYSIS}.figure_algorithm",
        )
    for name, options in settings.options.items():
        place = f"{_FILE}, {_ANALYSIS}.options.{name}"
        read_settings(ALGORITHMS[name], options, file=place)
    suites = {f"blocks.{name}.targets": block.targets for name, block in settings.blocks.items()}
    suites |= {f"leave_one_out.{name}": suite for name, suite in settings.leave_one_out.items()}
    for key, suite in suites.items():
        check_known("suite", [suite], study.suites, file=_FILE, field=f"{_ANALYSIS}.{key}")
    for name, suite in settings.leave_one_out.items():
        if len(study.suites[suite].datasets) < 2:
            raise InputError(
                f"suite '{suite}' has one set, so that none is left to train on",
                file=_FILE,
                field=f"{_ANALYSIS}.leave_one_out.{name}",
            )
        if name == "blocks" or name in settings.blocks:
            raise InputError(
                f"'{name}' is the name of blocks as well",
                file=_FILE,
                field=f"{_ANALYSIS}.leave_one_out",
                remedy="Rename the design",
            )


def check_recipe(settings: "DomainGeneralizationSettings", study: "Study") -> None:
    """Check that the recipe leaves to the protocol what the protocol determines."""
    for column in PROTOCOL_COLUMNS:
        if column in settings.recipe:
            raise InputError(
                f"'{column}' is determined by the protocol",
                file=_FILE,
                field=f"{_ANALYSIS}.recipe",
                remedy="Set algorithms, seeds, steps, evaluate_every and validation_parts instead",
            )
    if study.training is None:
        raise InputError(
            "missing: models are to be trained",
            file=_FILE,
            field="training",
            remedy="Say on which device, as in 'training: {device: cpu}'",
        )
    missing = [
        column
        for column in ("architecture", "width", "depth")
        if column not in settings.recipe and column not in DEFAULT_RECIPE
    ]
    if missing:
        raise InputError(
            f"missing: {', '.join(missing)}", file=_FILE, field=f"{_ANALYSIS}.recipe",
            remedy="Give them as in a model catalogue (docs/training.md)",
        )  # fmt: skip


def check_sources(blocks: Sequence[Block], study: "Study") -> None:
    """Check that sources and targets have images and the same classes, and none in common."""
    for block in blocks:
        place = f"leave_one_out.{block.design}" if block.design else f"blocks.{block.name}"
        field = f"{_ANALYSIS}.{place}"
        for name in (*block.sources, *block.targets):
            study.check_dataset(name, field, images=True)
            if not study.datasets[name].settings.has_one_size:
                raise InputError(
                    "its images are files, which may differ in size; training needs one size",
                    file=_FILE,
                    field=f"datasets.{name}",
                    remedy="Add 'resize: 32', or another number of pixels, to all sets",
                )
            check_label_spaces(study, field, block.sources[0], name)
        _check_copies(study, block, field)
        both = [name for name in block.sources if name in block.targets]
        if both:
            raise InputError(
                f"'{both[0]}' is a source, and a target as well",
                file=_FILE,
                field=field,
                remedy="Leave it out of the sources, or of the suite",
            )


def check_usable(settings: "DomainGeneralizationSettings", plan: Plan) -> None:
    """Check that algorithms and selections that are asked for are possible in some block."""
    asked = settings.algorithms if "algorithms" in settings.model_fields_set else ()
    runs = [run for block in plan.blocks for run in plan.runs[block.sources]]
    for name in asked:
        refused = [run.state == REFUSED for run in runs if run.group.algorithm == name]
        if refused and all(refused):
            raise InputError(
                f"{name} needs two sources, and every block has one: {ALGORITHMS[name].refusal}",
                file=_FILE,
                field=f"{_ANALYSIS}.algorithms",
                remedy=f"Leave {name} out, or give a block a second source",
            )
    if LEFT_OUT in settings.selection and all(len(block.sources) == 1 for block in plan.blocks):
        raise InputError(
            f"{LEFT_OUT} needs two sources, and every block has one",
            file=_FILE,
            field=f"{_ANALYSIS}.selection",
            remedy="Leave it out, or give a block a second source",
        )


def _check_copies(study: "Study", block: Block, field: str) -> None:
    """Check that no set of a block is a source under another name."""
    specs = {name: study.datasets[name] for name in dict.fromkeys((*block.sources, *block.targets))}
    for source in block.sources:
        for name, spec in specs.items():
            ours = specs[source]
            if name != source and (spec.kind, spec.options) == (ours.kind, ours.options):
                raise InputError(
                    f"'{name}' has the same images as the source '{source}'",
                    file=_FILE,
                    field=field,
                    remedy="Leave one of them out, or say where its own images are",
                )
