"""The analysis of domain generalisation: its trainings, its files, and the inputs of its jobs."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar

from matcheval.datasets.derivations import Derivation
from matcheval.domain_generalization import checks
from matcheval.domain_generalization.designs import Plan, batch_of
from matcheval.domain_generalization.expansion import Expansion
from matcheval.domain_generalization.groups import Group
from matcheval.domain_generalization.scored import ScoredModels
from matcheval.domain_generalization.selection import DEFAULT
from matcheval.domain_generalization.settings import ERM, DomainGeneralizationSettings
from matcheval.execution import resources
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, ReportEntry, Wildcards
from matcheval.study.study import Study
from matcheval.study.trained_models import TestedModels, TrainedModel

_FIGURES = ("gain_by_set", "gain_by_algorithm", "by_sources", "learning_curves")
_OF_BLOCKS = "blocks"  # the view of all blocks of their own; others are designs


class DomainGeneralization(Analysis):
    """Train on several domains by several algorithms, and test on other domains."""

    name: ClassVar[str] = "domain_generalization"
    Settings: ClassVar[type[DomainGeneralizationSettings]] = DomainGeneralizationSettings
    settings: DomainGeneralizationSettings

    def __init__(self, settings: DomainGeneralizationSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.expansion = Expansion(study.name, settings, study.suites)
        folder = f"{study.folder}/{self.name}"
        self.planned = self.table("plan", "domain_plan", {"table": "plan"})
        self.runs, self.curves, self.accuracies = (
            Artifact(f"{folder}/{name}", (".parquet", ".csv"))
            for name in ("runs", "curves", "accuracies")
        )
        self.gains, self.spread, self.image_counts, self.near_far = (
            Artifact(f"{folder}/{name}", (".parquet", ".csv"))
            for name in ("gains", "spread", "image_counts", "near_far")
        )
        self.results = self.table("results", "domain_results", {"table": "results"})
        of_view = ReportEntry(self.title(), "domain_results", {"table": "{view}, {selection}"})
        self.layout = Artifact(
            f"{folder}/{{view}}-{{selection}}", (".md", ".tex"), of_view, (".md",)
        )
        self.plot = self.figure(f"{self.name}/{{figure}}", "domain_figures", {"table": "{figure}"})
        self.scored = ScoredModels(settings, study, self.expansion, lambda: self.trained)
        self.scores = Artifact(f"{folder}/scores/{{suite}}/{{scored}}", (".parquet",))
        self.predictability = self.table(
            "predictability", "domain_predictability", {"table": "predictability"}
        )
        self.plot_of_scores = self.figure(
            f"{self.name}/scores", "domain_figures", {"table": "scores"}
        )

    # --- what is trained

    @cached_property
    def plan(self) -> Plan:
        """All trainings, of settings that have been checked: others may ask for it before `check`.

        Raises
        ------
        InputError
            As for `check`.
        """
        if self.settings.blocks or self.settings.leave_one_out:
            checks.check_names(self.settings, self.study)
            checks.check_recipe(self.settings, self.study)
            checks.check_sources(self.expansion.blocks, self.study)
        return self.expansion.plan

    def check(self) -> None:
        """Check names, sources, targets, options and recipe, and plan all trainings."""
        checks.check_usable(self.settings, self.plan)
        self.scored.check()

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """The models of the plan."""
        plan, file = self.plan, self.planned.file(".parquet")
        return {name: self.expansion.trained(run, file) for name, run in plan.trained.items()}

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """Both parts of every source, for every seed."""
        return self.expansion.derivations if self.plan.runs else {}

    @property
    def tested(self) -> Mapping[str, TestedModels]:
        """The models of the plan on their targets, and scored ones on their sources."""
        return self.tested_on_targets | self.scored.tested

    @property
    def tested_on_targets(self) -> dict[str, TestedModels]:
        """The models of the plan, those of the same sources and algorithm together."""
        batches: dict[str, list[str]] = {}
        for name, run in self.plan.trained.items():
            batches.setdefault(batch_of(self.study.name, run), []).append(name)
        return {
            batch: TestedModels(tuple(models), self.plan.tested[models[0]])
            for batch, models in batches.items()
        }

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The sources and the targets."""
        names = (
            name for block in self.expansion.blocks for name in (*block.sources, *block.targets)
        )
        return tuple(dict.fromkeys(names))

    # --- files and jobs

    @property
    def views(self) -> dict[str, str]:
        """The design of every table in a paper's layout, by its name; blocks have none."""
        of_blocks = {_OF_BLOCKS: ""} if self.settings.blocks else {}
        return of_blocks | {design: design for design in self.settings.leave_one_out}

    @property
    def selections(self) -> tuple[str, ...]:
        """The selections that have tables of their own."""
        return (DEFAULT, *self.settings.selection)

    @property
    def targets(self) -> list[str]:
        """All tables and figures."""
        if not self.expansion.blocks:
            return []
        single = (self.results, self.planned, self.runs, self.curves, self.accuracies)
        return [
            *(file for one in (*single, *self._compared) for file in one.files),
            *self.layout.expand(view=self.views, selection=self.selections),
            *self.plot.expand(figure=_FIGURES),
            *(
                file
                for one in (self.predictability, self.near_far, self.plot_of_scores)
                for file in one.files
                if self.scored.models
            ),
        ]

    @property
    def report_section(self) -> Section:
        """Gains over ERM and all results, besides tables and figures."""
        if not self.expansion.blocks:
            return self.section()
        data = {"results": [self.results.file(".parquet")]}
        return self.section(data, {"selection": self.settings.selection[0]}, [self.results])

    @property
    def _compared(self) -> tuple[Artifact, ...]:
        return self.gains, self.spread, self.image_counts

    figures = _FIGURES

    def plan_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the descriptions of all sources and targets, which are checked."""
        return [file for name in self.trained_on for file in self.study.description_files(name)]

    def plan_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the plan's table."""
        recipe = self.expansion.recipe(Group(ERM, 0, {}), 0)
        return {
            "blocks": [asdict(block) for block in self.expansion.blocks],
            "plan": self._plan_rows,
            "folders": {name: self.study.dataset_folder(name) for name in self.trained_on},
            "batch_size": recipe.batch_size,
            "parts": self.settings.validation_parts,
        }

    @cached_property
    def _plan_rows(self) -> list[dict[str, Any]]:
        from matcheval.domain_generalization.runs import tabulate_plan

        rows: Any = tabulate_plan(self.plan).to_dict("records")
        return list(rows)

    def run_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the histories of all trainings, and the indexes of their predictions."""
        return {
            "plan": [self.planned.file(".parquet")],
            "histories": [self.study.history_file(name) for name in self.plan.trained],
            "indexes": [
                self.study.predicting.tested_index(batch) for batch in self.tested_on_targets
            ],
        }

    def run_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the tables of runs."""
        return {
            "models": list(self.plan.trained),
            "epoch_steps": self.settings.evaluate_every,
            "tested": [asdict(batch) for batch in self.tested_on_targets.values()],
            "predictions": self.study.predictions_folder,
        }

    def result_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the tables of results."""
        return {
            "blocks": [asdict(block) for block in self.expansion.blocks],
            "rules": list(self.settings.selection),
            "confidence": self.study.confidence,
        }

    def score_files(self, wildcards: Wildcards) -> list[str]:
        """Return the scores of all scored models."""
        return [self.scores.file(suite=suite, scored=name) for suite, name in self.scored.models]

    def layout_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a table in a paper's layout."""
        return {"design": self.views[wildcards.view], "selection": wildcards.selection}

    def figure_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a figure."""
        return {
            "kind": wildcards.figure,
            "selection": self.settings.selection[0],
            "algorithm": self.settings.figure_algorithm or self._first,
        }

    @property
    def _first(self) -> str:
        """The first algorithm but ERM, if there is another."""
        return next((name for name in self.settings.algorithms if name != ERM), ERM)

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the number of models and of the sets that they are tested on."""
        return {"collect_domain_runs": self._request, "score_domain_model": self._scoring_request}

    def _scoring_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        from matcheval.study.requests import dataset_size

        study, targets = self.study, self.study.suites[wildcards.suite].datasets
        images = max(dataset_size(study, name).images for name in (*targets, *self.trained_on))
        return resources.of_scoring(
            len(targets), images, resources.MANY_CLASSES, resources.MANY_FEATURES
        )

    def _request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        from matcheval.study.requests import dataset_size

        targets = {name for block in self.expansion.blocks for name in block.targets}
        images = max(dataset_size(self.study, name).images for name in targets)
        return resources.of_reading(len(self.plan.trained), len(targets), images)
