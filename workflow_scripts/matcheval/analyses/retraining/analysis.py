"""The analysis of retraining: experiments, derived datasets, trained models and files."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar

from matcheval.analyses.retraining.designs import Experiment, design_experiment
from matcheval.analyses.retraining.settings import RetrainingSettings
from matcheval.datasets.derivations import Derivation
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, ReportEntry, Wildcards
from matcheval.study.study import Study
from matcheval.study.trained_models import TrainedModel


class Retraining(Analysis):
    """Train and evaluate the models of the configured experiments."""

    name: ClassVar[str] = "retraining"
    Settings: ClassVar[type[RetrainingSettings]] = RetrainingSettings
    settings: RetrainingSettings

    def __init__(self, settings: RetrainingSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.result = Artifact(
            f"{study.folder}/retraining/{{experiment}}",
            (".parquet", ".csv", ".md"),
            ReportEntry(self.title(), "retraining", {"experiment": "{experiment}"}),
            (".md",),
        )

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """Designs of the experiments, by name."""
        return {
            name: design_experiment(name, settings, self.study)
            for name, settings in self.settings.experiments.items()
        }

    def check(self) -> None:
        """Check the experiments, by designing them."""
        _ = self.experiments

    @property
    def targets(self) -> list[str]:
        """Table and page of every experiment."""
        return self.result.expand(experiment=self.experiments)

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """Datasets that are derived for training or testing, by name."""
        each = (one.derivations for one in self.experiments.values())
        return {name: derivation for found in each for name, derivation in found.items()}

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """The variants that the experiments train, by name."""
        each = (one.trained for one in self.experiments.values())
        return {name: model for found in each for name, model in found.items()}

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the table of an experiment waits for: all its predictions."""
        trials = self.experiments[wildcards.experiment].trials
        inputs = (self.study.results_inputs(trial.dataset, [trial.model]) for trial in trials)
        return list(dict.fromkeys(file for files in inputs for file in files))

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the table of an experiment."""
        experiment = self.experiments[wildcards.experiment]
        return {
            "kind": experiment.kind,
            "trials": [asdict(trial) for trial in experiment.trials],
            "files": [
                self.study.predictions_file(trial.dataset, trial.model)
                for trial in experiment.trials
            ],
            "pair": vars(experiment.pair),
            "confidence": self.study.confidence,
        }
