"""The analysis of domain generalisation: what it trains, and its rules."""

from dataclasses import asdict
from typing import Any, ClassVar

from matcheval.accuracy_prediction.scoring import write_scores
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.suites import Suite
from matcheval.domain_generalization.expansion import PlannedTrainings
from matcheval.domain_generalization.figures import KINDS, plot_results
from matcheval.domain_generalization.plan import ERM, DomainGeneralizationSettings, Group
from matcheval.domain_generalization.tables import DEFAULT, PER_RUN
from matcheval.report.sections import Section
from matcheval.study.rules import Artifact, ReportEntry, Wildcards, call, kept_calls
from matcheval.study.study import Study

_BLOCKS_VIEW = "blocks"  # the view of blocks with sources of their own; others are designs
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
    "How well scores without labels predict the accuracies of generalised models on the target "
    "sets, beside ERM's (after Figure 5B of Sun et al. 2024): rank correlations, and errors if "
    "each set is predicted from all others; means over runs with Student's intervals."
)
_FIGURES = """\
{% set shown = {
    "gain_by_set": "gain over ERM against ERM's accuracy, a point per target set \
(after Figure 5A of Sun et al. 2024)",
    "gain_by_algorithm": "gains over ERM with {level} intervals, of default and of selected groups \
of hyper-parameters",
    "by_sources": "accuracies by the number of sources, mean and standard deviation over runs",
    "learning_curves": "validation accuracies by step, of default groups of hyper-parameters",
    "scores": "scores without labels against accuracies, a point per algorithm and target set \
(after Figure 5B of Sun et al. 2024)"
} -%}
Domain generalisation: \
{{ shown[snakemake.wildcards.figure if snakemake.wildcards.figure is defined else "scores"] }}."""


class DomainGeneralization(PlannedTrainings):
    """Analysis that trains on several domains by several algorithms, and tests on others."""

    name: ClassVar[str] = "domain_generalization"
    Settings: ClassVar[type[DomainGeneralizationSettings]] = DomainGeneralizationSettings

    def __init__(self, settings: DomainGeneralizationSettings, study: Study) -> None:
        super().__init__(settings, study)
        folder = f"{study.folder}/{self.name}"

        def data_table(name: str) -> Artifact:
            return Artifact(f"{folder}/{name}", (".parquet", ".csv"))

        self.planned = self.table("plan", _PLAN, {"table": "plan"})
        self.runs, self.curves, self.accuracies = map(data_table, ("runs", "curves", "accuracies"))
        self.results = self.table("results", _RESULTS, {"table": "results"})
        self.gains, self.spread, self.image_counts, self.near_far = map(
            data_table, ("gains", "spread", "image_counts", "near_far")
        )
        view_entry = ReportEntry(self.title(), _RESULTS, {"table": "{view}, {selection}"})
        self.layout = Artifact(
            f"{folder}/{{view}}-{{selection}}", (".md", ".tex"), view_entry, (".md",)
        )
        self.plot = self.figure(f"{self.name}/{{figure}}", _FIGURES, {"table": "{figure}"})
        self.scores = Artifact(f"{folder}/scores/{{suite}}/{{scored}}", (".parquet",))
        self.predictability = self.table(
            "predictability", _PREDICTABILITY, {"table": "predictability"}
        )
        self.plot_of_scores = self.figure(f"{self.name}/scores", _FIGURES, {"table": "scores"})

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Names of all datasets that models are trained or tested on."""
        blocks = self.blocks
        return tuple(dict.fromkeys(n for block in blocks for n in (*block.sources, *block.targets)))

    @property
    def views(self) -> dict[str, str]:
        """Design of each table in a paper's layout, by the table's name; empty for `blocks`."""
        blocks_view = {_BLOCKS_VIEW: ""} if self.settings.blocks else {}
        return blocks_view | {design: design for design in self.settings.leave_one_out}

    @property
    def selections(self) -> tuple[str, ...]:
        """Names of the ways to select hyper-parameters that have tables of their own."""
        rules = self.settings.selection
        return (DEFAULT, *(f"{rule}{end}" for rule in rules for end in (PER_RUN, "")))

    @property
    def shown_selection(self) -> str:
        """Selection that figures and headlines show: by the first rule, for each run."""
        return self.settings.selection[0] + PER_RUN

    @property
    def targets(self) -> list[str]:
        """Paths of all tables and figures."""
        if not self.blocks:
            return []
        single = (
            self.results, self.planned, self.runs, self.curves, self.accuracies, self.gains,
            self.spread, self.image_counts,
        )  # fmt: skip
        score_results = (self.predictability, self.near_far, self.plot_of_scores)
        return [
            *(file for artifact in single for file in artifact.expand()),
            *self.layout.expand(view=self.views, selection=self.selections),
            *self.plot.expand(figure=KINDS),
            *(file for artifact in score_results for file in artifact.expand() if self.scored),
        ]

    @property
    def report_section(self) -> Section:
        """The report's section: headlines on gains over ERM, tables and figures."""
        if not self.blocks:
            return self.section()
        data = {"results": [self.results.file(".parquet")]}
        return self.section(data, {"selection": self.shown_selection})

    # --- inputs and arguments of jobs

    @property
    def plan_arguments(self) -> dict[str, Any]:
        """Arguments of `write_plan` that are not files of the rule."""
        return {
            "blocks": self._block_dicts, "plan": self.plan.rows,
            "folders": {name: self.study.dataset_folder(name) for name in self.trained_on},
            "batch_size": self.recipe(Group(ERM, 0, {}), 0).batch_size,
            "parts": self.settings.validation_parts,
        }  # fmt: skip

    @property
    def run_arguments(self) -> dict[str, Any]:
        """Arguments of `collect_runs` that are not files of the rule."""
        return {
            "models": list(self.trained), "epoch_steps": self.settings.evaluate_every,
            "tested": [asdict(batch) for batch in self.tested_on_targets.values()],
        }  # fmt: skip

    @property
    def comparison_arguments(self) -> dict[str, Any]:
        """Arguments of `compare_algorithms` that are not files of the rule."""
        rules, confidence = list(self.settings.selection), self.study.confidence
        return {"blocks": self._block_dicts, "rules": rules, "confidence": confidence}

    @property
    def figure_arguments(self) -> dict[str, Any]:
        """Calls of `plot_results` that draw all figures but that of scores."""
        others = (name for name in self.settings.algorithms if name != ERM)
        shown = {
            "selection": self.shown_selection,
            "algorithm": self.settings.figure_algorithm or next(others, ERM),
            "runs": self.runs.file(), "curves": self.curves.file(),
            "results": self.results.file(".parquet"), "gains": self.gains.file(),
        }  # fmt: skip
        return {
            "calls": [
                call(plot_results, kind=kind, **shown, outputs=self.plot.expand(figure=kind))
                for kind in KINDS
            ]
        }

    @property
    def scored_suites(self) -> list[str]:
        """Names of the target suites on which trained models are scored."""
        return list(dict.fromkeys(suite for suite, _ in self.scored))

    @property
    def score_tables(self) -> list[str]:
        """Paths of the tables of scores, for each suite and scored model."""
        return [self.scores.file(suite=suite, scored=name) for suite, name in self.scored]

    def _models_scored_on(self, suite: str) -> list[str]:
        return [name for scored_suite, name in self.scored if scored_suite == suite]

    def score_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the folders and descriptions that the models of a suite are scored from."""
        suite, tested = wildcards.suite, self.study.predicting.tested_folder
        files = dict[str, None]()
        for name in self._models_scored_on(suite):
            run = self.scored[suite, name]
            described = self.study.description_inputs(self.trained[name].validation[0])
            batches = [tested(run.batch), tested(run.source_batch)]
            files |= dict.fromkeys([*batches, *described])
        return list(files)

    def score_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `execution.batches.make_calls` for the scores on a suite."""
        settings, study, suite = self.settings.scores, self.study, wildcards.suite
        assert settings is not None  # without them there are no such jobs
        members, reads = {}, {}
        for name in self._models_scored_on(suite):
            trained, stems = self.trained[name], self._output_stems(suite, name)
            members[name] = {
                "scored": name, "members": [name], "reference": "+".join(trained.train),
                "stored": {
                    "suite": asdict(Suite(suite, study.suites[suite].members)),
                    "base": "+".join(trained.validation),
                    "classes": study.dataset_files(trained.validation[0])[0],
                    "rule": {},
                    "files": {
                        "stems": stems,
                        "outputs": [kind for kind in study.inference.outputs if kind != "top"],
                    },
                },
            }  # fmt: skip
            reads[name] = [f"{stem.format(model=name)}.parquet" for stem in stems.values()]
            reads[name].append(study.dataset_files(trained.validation[0])[0])
        shared = {
            "methods": list(settings.methods), "subsets": {}, "seeds": [0],
            "options": {"n_prototypes": AccuracyPredictionSettings().n_prototypes},
        }  # fmt: skip
        return kept_calls(study, write_scores, f"{self.name}/scores/{suite}") | {
            "shared": shared, "members": members, "reads": reads, "output": "scores",
        }  # fmt: skip

    def _output_stems(self, suite: str, scored: str) -> dict[str, str]:
        """Return the stem of a scored model's outputs, by dataset, with `{model}` in it."""
        run, trained = self.scored[suite, scored], self.trained[scored]
        tested, targets = self.study.predicting.tested_folder, self.study.suites[suite].datasets
        sources = dict.fromkeys([*trained.train, *trained.validation], run.source_batch)
        batch_of = sources | dict.fromkeys(targets, run.batch)
        return {name: f"{tested(batch)}/{name}/{{model}}" for name, batch in batch_of.items()}

    @property
    def score_comparison_arguments(self) -> dict[str, Any]:
        """Arguments of `compare_scores`, with the tables of scores."""
        return {**self.comparison_arguments, "scores": self.score_tables}

    @property
    def _block_dicts(self) -> list[dict[str, Any]]:
        return [asdict(block) for block in self.blocks]
