"""Which of the trained models are scored by the methods of accuracy prediction, and on what."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Need
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.suites import Suite
from matcheval.domain_generalization.expansion import Expansion
from matcheval.domain_generalization.plan import TRAINED, batch_of
from matcheval.domain_generalization.settings import ERM, DomainGeneralizationSettings
from matcheval.errors import check_known, configuration_error
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study
from matcheval.study.trained_models import TestedModels

_FIELD = "domain_generalization.scores"


@dataclass(frozen=True)
class Scored:
    """The jobs that test a scored model on the targets, and on the parts of its sources."""

    batch: str
    source_batch: str


class ScoredModels:
    """Trained models whose accuracies are predicted without labels, and the jobs that do it."""

    def __init__(
        self, settings: DomainGeneralizationSettings, study: Study, expansion: Expansion
    ) -> None:
        self._settings, self._study, self._expansion = settings, study, expansion

    def check(self) -> None:
        """Check that algorithms and methods exist, and that inference keeps what methods need."""
        settings = self._settings.scores
        if settings is None:
            return
        for what, names, known in (
            ("algorithm", settings.algorithms, self._expansion.algorithms),
            ("method", settings.methods, SCORES),
        ):
            check_known(what, names, known, file="configuration", field=f"{_FIELD}.{what}s")
        if not self._settings.blocks:
            raise configuration_error(
                "scores are of blocks, of which there are none",
                field=_FIELD,
                remedy="Name blocks, or leave it out",
            )
        for method, need in ((m, need) for m in settings.methods for need in SCORES[m].needs):
            if need is Need.IMAGES:
                raise configuration_error(
                    f"'{method}' runs models again over rotated images, which is not done here",
                    field=f"{_FIELD}.methods",
                    remedy="Leave it out",
                )
            kept = OUTPUTS_FOR.get(need, ())
            if kept and not set(kept) & set(self._study.inference.outputs):
                raise configuration_error(
                    f"'{method}' needs {need.value}",
                    field="inference.outputs",
                    remedy=f"Add {' or '.join(kept)}",
                )

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names of the algorithms, ERM first; empty if nothing is scored."""
        settings = self._settings.scores
        return tuple(dict.fromkeys((ERM, *settings.algorithms))) if settings else ()

    @cached_property
    def models(self) -> dict[tuple[str, str], Scored]:
        """All scored models, by suite and model."""
        found = {}
        blocks = [block for block in self._expansion.blocks if not block.design]
        for block in blocks if self.algorithms else ():
            suite = self._settings.blocks[block.name].targets
            for run in self._expansion.plan.runs[block.sources]:
                if run.state == TRAINED and run.group.algorithm in self.algorithms:
                    batch = batch_of(self._study.name, run)
                    sources = f"{batch}.sources.seed-{run.seed}"
                    found[suite, run.model] = Scored(batch, sources)
        return found

    @cached_property
    def tested(self) -> dict[str, TestedModels]:
        """Models on the parts of their sources, those of the same sources and seed together."""
        batches: dict[str, list[str]] = {}
        for (_, model), one in self.models.items():
            batches.setdefault(one.source_batch, []).append(model)
        trained = self._expansion.trained
        return {
            batch: TestedModels(
                tuple(dict.fromkeys(models)),
                (*trained[models[0]].train, *trained[models[0]].validation),
            )
            for batch, models in batches.items()
        }

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the scores of a model on a suite wait for."""
        one = self.models[wildcards.suite, wildcards.scored]
        index = self._study.predicting.tested_index
        first = self._expansion.trained[wildcards.scored].validation[0]
        return [index(one.batch), index(one.source_batch), self._study.dataset_files(first)[0]]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the scores of a model on a suite."""
        settings, study, suite = self._settings.scores, self._study, wildcards.suite
        assert settings is not None
        trained = self._expansion.trained[wildcards.scored]
        return {
            "suite": asdict(Suite(suite, study.suites[suite].members)),
            "base": trained.validation_text,
            "reference": trained.train_text,
            "members": [wildcards.scored],
            "files": {
                "folder": study.predictions_folder,
                "outputs": [name for name in study.inference.outputs if name != "top"],
            },
            "classes": study.dataset_files(trained.validation[0])[0],
            "rule": {},
            "methods": list(settings.methods),
            "view_methods": [],
            "options": {"n_prototypes": AccuracyPredictionSettings().n_prototypes},
            "views": {},
            "seeds": [0],
        }
