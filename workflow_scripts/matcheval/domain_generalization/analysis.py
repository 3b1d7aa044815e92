"""The analysis of domain generalisation: what it trains, and its rules."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import product
from typing import Any, ClassVar

from matcheval.accuracy_prediction.scoring import write_scores
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.derived import Derivation
from matcheval.datasets.suites import Suite
from matcheval.domain_generalization.expansion import Expansion
from matcheval.domain_generalization.figures import KINDS, plot_results
from matcheval.domain_generalization.plan import Group
from matcheval.domain_generalization.predictability import compare_scores
from matcheval.domain_generalization.results import collect_runs, compare_algorithms
from matcheval.domain_generalization.settings import ERM, DomainGeneralizationSettings
from matcheval.domain_generalization.tables import DEFAULT, PER_RUN, lay_out_results, write_plan
from matcheval.execution import resources
from matcheval.report.sections import Section
from matcheval.study.analysis import Analysis
from matcheval.study.catalogue import TestedModels, TrainedModel
from matcheval.study.rules import Artifact, Members, ReportEntry, Rule, Wildcards
from matcheval.study.sizes import dataset_size
from matcheval.study.study import Study

_OF_BLOCKS = "blocks"  # the view of blocks with sources of their own; others are designs
_PLAN = (
    "All trainings of domain generalisation: sources, algorithm, group of hyper-parameters with "
    "the options that differ from their defaults, and what coincides with ERM or is refused."
)
_RESULTS = (
    "Accuracies of algorithms of domain generalisation on the target sets, mean and standard "
    "deviation over runs, and gains over ERM with Student's intervals and paired t tests, for "
    "groups of hyper-parameters selected in several ways."
)
_PREDICTABILITY = (
    "How well scores without labels go with the accuracies of generalised models on the target "
    "sets, beside ERM's (after Figure 5B of Sun et al. 2024): rank correlations, and errors if "
    "each set is predicted from all others; means over runs with Student's intervals."
)
_FIGURES = """\
{% set shown = {
    "gain_by_set": "gain over ERM against ERM's accuracy, a point per target set \
(after Figure 5A of Sun et al. 2024)",
    "gain_by_algorithm": "gains over ERM with 95 % intervals, of default and of selected groups \
of hyper-parameters",
    "by_sources": "accuracies by the number of sources, mean and standard deviation over runs",
    "learning_curves": "validation accuracies by step, of default groups of hyper-parameters",
    "scores": "scores without labels against accuracies, a point per algorithm and target set \
(after Figure 5B of Sun et al. 2024)"
} -%}
Domain generalisation: \
{{ shown[snakemake.wildcards.figure if snakemake.wildcards.figure is defined else "scores"] }}."""


class DomainGeneralization(Analysis):
    """Train on several domains by several algorithms, and test on other domains."""

    name: ClassVar[str] = "domain_generalization"
    Settings: ClassVar[type[DomainGeneralizationSettings]] = DomainGeneralizationSettings
    settings: DomainGeneralizationSettings

    def __init__(self, settings: DomainGeneralizationSettings, study: Study) -> None:
        super().__init__(settings, study)
        folder = f"{study.folder}/{self.name}"

        def data(name: str) -> Artifact:
            return Artifact(f"{folder}/{name}", (".parquet", ".csv"))

        self.planned = self.table("plan", _PLAN, {"table": "plan"})
        self.expansion = Expansion(settings, study)
        self.runs, self.curves, self.accuracies = map(data, ("runs", "curves", "accuracies"))
        self.results = self.table("results", _RESULTS, {"table": "results"})
        self.gains, self.spread, self.image_counts, self.near_far = map(
            data, ("gains", "spread", "image_counts", "near_far")
        )
        of_view = ReportEntry(self.title(), _RESULTS, {"table": "{view}, {selection}"})
        self.layout = Artifact(
            f"{folder}/{{view}}-{{selection}}", (".md", ".tex"), of_view, (".md",)
        )
        self.plot = self.figure(f"{self.name}/{{figure}}", _FIGURES, {"table": "{figure}"})
        self.scores = Artifact(f"{folder}/scores/{{suite}}/{{scored}}", (".parquet",))
        self.scored_index = Artifact(f"{folder}/scores/{{suite}}", (".json",))
        self.predictability = self.table(
            "predictability", _PREDICTABILITY, {"table": "predictability"}
        )
        self.plot_of_scores = self.figure(f"{self.name}/scores", _FIGURES, {"table": "scores"})

    def check(self) -> None:
        """Check names, sources, targets, options and recipe, and plan all trainings."""
        self.expansion.check()

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """The models that the plan trains."""
        return self.expansion.trained

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """The training and validation splits of every source domain, for every seed."""
        return self.expansion.derivations

    @property
    def tested(self) -> Mapping[str, TestedModels]:
        """Models to evaluate on their target domains; scores need their source domains as well."""
        return self.expansion.tested | self.expansion.tested_on_sources

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Names of all datasets that models are trained or tested on."""
        blocks = self.expansion.blocks
        return tuple(dict.fromkeys(n for block in blocks for n in (*block.sources, *block.targets)))

    @property
    def views(self) -> dict[str, str]:
        """The design of every table in a paper's layout, by its name; blocks have none."""
        of_blocks = {_OF_BLOCKS: ""} if self.settings.blocks else {}
        return of_blocks | {design: design for design in self.settings.leave_one_out}

    @property
    def selections(self) -> tuple[str, ...]:
        """The selections that have tables of their own."""
        rules = self.settings.selection
        return (DEFAULT, *(f"{rule}{end}" for rule in rules for end in (PER_RUN, "")))

    @property
    def shown_selection(self) -> str:
        """The selection of figures and headlines: the first rule, by every run as in DomainBed."""
        return self.settings.selection[0] + PER_RUN

    @property
    def targets(self) -> list[str]:
        """All tables and figures."""
        if not self.expansion.blocks:
            return []
        single = (
            self.results, self.planned, self.runs, self.curves, self.accuracies, self.gains,
            self.spread, self.image_counts,
        )  # fmt: skip
        of_scores = (self.predictability, self.near_far, self.plot_of_scores)
        return [
            *(file for one in single for file in one.files),
            *self.layout.expand(view=self.views, selection=self.selections),
            *self.plot.expand(figure=KINDS),
            *(file for one in of_scores for file in one.files if self.expansion.scored),
        ]

    @property
    def report_section(self) -> Section:
        """Gains over ERM and all results, besides tables and figures."""
        if not self.expansion.blocks:
            return self.section()
        data = {"results": [self.results.file(".parquet")]}
        return self.section(data, {"selection": self.shown_selection}, [self.results])

    # --- rules

    @property
    def rules(self) -> list[Rule]:
        """The rules from the plan to tables and figures, and those of scores."""
        study, expansion, settings = self.study, self.expansion, self.settings
        first = next((name for name in settings.algorithms if name != ERM), ERM)
        tables = (self.runs, self.accuracies, self.curves, self.results, self.gains)
        runs, accuracies, curves, results, gains = (table.file(".parquet") for table in tables)
        return [
            Rule(
                name="plan_domain_generalization", run=write_plan, environment="models",
                message="Checking sources and targets, and listing the trainings",
                input={
                    "descriptions": lambda wildcards: [
                        file for name in self.trained_on for file in study.description_inputs(name)
                    ]
                },
                output={"outputs": self.planned},
                arguments=lambda wildcards: {
                    "blocks": self._blocks, "plan": expansion.plan.rows,
                    "folders": {name: study.dataset_folder(name) for name in self.trained_on},
                    "batch_size": expansion.recipe(Group(ERM, 0, {}), 0).batch_size,
                    "parts": settings.validation_parts,
                },
            ),
            Rule(
                name="collect_domain_runs", run=collect_runs, request=self._collecting_request,
                message="Collecting the runs and their accuracies",
                input={
                    "plan": self.planned.file(".parquet"),
                    "trained": lambda wildcards: study.trainings.history_inputs(self.trained),
                    "indexes": lambda wildcards: list(
                        map(study.predicting.tested_index, expansion.tested)
                    ),
                },
                output={"runs": self.runs, "curves": self.curves, "accuracies": self.accuracies},
                arguments=lambda wildcards: {
                    "models": list(self.trained), "epoch_steps": settings.evaluate_every,
                    "histories": list(map(study.history_file, self.trained)),
                    "tested": [asdict(batch) for batch in expansion.tested.values()],
                    "predictions": study.predictions_folder,
                },
            ),
            Rule(
                name="compare_domain_algorithms", run=compare_algorithms,
                message="Selecting groups of hyper-parameters, and comparing algorithms with ERM",
                input={"runs": runs, "accuracies": accuracies},
                output={
                    "results": self.results, "gains": self.gains, "spread": self.spread,
                    "image_counts": self.image_counts,
                },
                arguments=self._comparison,
            ),
            Rule(
                name="lay_out_domain_results", run=lay_out_results,
                message="Laying out the results as tables of Markdown and LaTeX",
                input={"results": results},
                output={
                    "outputs": [
                        self.layout.of({"view": view, "selection": selection})
                        for view, selection in product(self.views, self.selections)
                    ]
                },
                arguments=lambda wildcards: {
                    "designs": list(self.views.values()), "selections": self.selections,
                },
            ),
            Rule(
                name="plot_domain_generalization", draws=True, run=plot_results,
                message="Plotting {wildcards.figure}",
                input={"runs": runs, "curves": curves, "results": results, "gains": gains},
                output={"outputs": self.plot}, values={"figure": KINDS},
                arguments=lambda wildcards: {
                    "kind": wildcards.figure, "selection": self.shown_selection,
                    "algorithm": settings.figure_algorithm or first,
                },
            ),
            Rule(
                name="score_domain_model", run=write_scores, request=self._scoring_request,
                message="Scoring models on suite {wildcards.suite}",
                input={"outputs": self._scored_outputs}, output={"scores": self.scores.file()},
                members=Members(
                    "scored", lambda w: [name for of, name in expansion.scored if of == w.suite],
                    self._read, self.scored_index, study.results,
                ),
                arguments=self._scoring, values={"suite": study.suites, "scored": self.trained},
                code=["matcheval.accuracy_prediction.scores"],
            ),
            Rule(
                name="compare_domain_scores", run=compare_scores,
                message="Comparing scores with accuracies of generalised models",
                input={
                    "runs": runs, "accuracies": accuracies, "scored": self.indexes,
                },
                output={
                    "predictability": self.predictability, "near_far": self.near_far,
                    "figure": self.plot_of_scores,
                },
                arguments=lambda wildcards: {
                    **self._comparison(wildcards),
                    "scores": [
                        self.scores.file(suite=suite, scored=name)
                        for suite, name in expansion.scored
                    ],
                },
            ),
        ]  # fmt: skip

    @property
    def indexes(self) -> list[str]:
        """Lists of the tables of scores, by suite."""
        suites = dict.fromkeys(suite for suite, _ in self.expansion.scored)
        return self.scored_index.expand(suite=list(suites))

    def _read(self, wildcards: Wildcards) -> list[str]:
        """Return the files that the scores of a model on a suite are computed from."""
        study, trained = self.study, self.trained[wildcards.scored]
        names = [*trained.train, *trained.validation, *study.suites[wildcards.suite].datasets]
        files = (study.predictions_file(name, wildcards.scored) for name in dict.fromkeys(names))
        return [*files, study.dataset_files(trained.validation[0])[0]]

    @property
    def _blocks(self) -> list[dict[str, Any]]:
        return [asdict(block) for block in self.expansion.blocks]

    def _comparison(self, wildcards: Wildcards) -> dict[str, Any]:
        rules, confidence = list(self.settings.selection), self.study.confidence
        return {"blocks": self._blocks, "rules": rules, "confidence": confidence}

    def _scored_outputs(self, wildcards: Wildcards) -> list[str]:
        run = self.expansion.scored[wildcards.suite, wildcards.scored]
        index = self.study.predicting.tested_index
        first = self.trained[wildcards.scored].validation[0]
        return [index(run.batch), index(run.source_batch), *self.study.description_inputs(first)]

    def _scoring(self, wildcards: Wildcards) -> dict[str, Any]:
        settings, study, suite = self.settings.scores, self.study, wildcards.suite
        assert settings is not None  # without them there are no such jobs
        trained = self.trained[wildcards.scored]
        outputs = [name for name in study.inference.outputs if name != "top"]
        return {
            "given": {
                "suite": asdict(Suite(suite, study.suites[suite].members)),
                "base": trained.validation_text,
                "classes": study.dataset_files(trained.validation[0])[0],
                "rule": {},
                "files": {"folder": study.predictions_folder, "outputs": outputs},
            },
            "reference": trained.train_text,
            "members": [wildcards.scored],
            "methods": list(settings.methods),
            "options": {"n_prototypes": AccuracyPredictionSettings().n_prototypes},
            "views": {},
            "seeds": [0],
        }

    def _scoring_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        targets = self.study.suites[wildcards.suite].datasets
        return resources.of_scoring(
            len(targets), self._most_images((*targets, *self.trained_on)),
            resources.MANY_CLASSES, resources.MANY_FEATURES,
        )  # fmt: skip

    def _collecting_request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        targets = {name for block in self.expansion.blocks for name in block.targets}
        images = self._most_images(targets)
        return resources.of_reading(len(self.trained), len(targets), images)

    def _most_images(self, datasets: Iterable[str]) -> int:
        return max(dataset_size(self.study, name).images for name in datasets)
