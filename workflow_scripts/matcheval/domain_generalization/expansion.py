"""What the settings of domain generalisation stand for: blocks, groups, recipes and trainings."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from matcheval.datasets.derived import Derivation, part, rest
from matcheval.datasets.suites import Member, Suite
from matcheval.domain_generalization.designs import (
    Block,
    Plan,
    Run,
    make_plan,
    name_of_sources,
    recipe_values,
)
from matcheval.domain_generalization.groups import Group, groups_of, scaling
from matcheval.domain_generalization.settings import ERM, LEFT_OUT, DomainGeneralizationSettings
from matcheval.models.rows import TRAINED, ModelSource
from matcheval.study.catalogue import Model
from matcheval.study.trained_models import TrainedModel
from matcheval.training.recipe import Recipe


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
