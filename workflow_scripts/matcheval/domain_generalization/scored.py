"""Which of the trained models are scored by the methods of accuracy prediction, and on what."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Need
from matcheval.accuracy_prediction.settings import AccuracyPredictionSettings
from matcheval.datasets.suites import Suite
from matcheval.domain_generalization.designs import TRAINED, batch_of
from matcheval.domain_generalization.expansion import Expansion
from matcheval.domain_generalization.settings import ERM, DomainGeneralizationSettings
from matcheval.errors import InputError, check_known
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study
from matcheval.study.trained_models import TestedModels, TrainedModel

_FILE, _FIELD = "configuration", "domain_generalization.scores"


@dataclass(frozen=True)
class Scored:
    """A model that is scored on a suite."""

    suite: str
    model: str
    batch: str
    source_batch: str


class ScoredModels:
    """Trained models whose accuracies are predicted without labels, and the jobs that do it."""

    def __init__(
        self,
        settings: DomainGeneralizationSettings,
        study: Study,
        expansion: Expansion,
        trained: Callable[[], Mapping[str, TrainedModel]],
    ) -> None:
        self._settings, self._study, self._expansion = settings, study, expansion
        self._trained = trained

    def check(self) -> None:
        """Check that algorithms and methods exist, and that inference keeps what methods need."""
        settings = self._settings.scores
        if settings is None:
            return
        known = self._expansion.algorithms
        check_known(
            "algorithm", settings.algorithms, known, file=_FILE, field=f"{_FIELD}.algorithms"
        )
        check_known("method", settings.methods, SCORES, file=_FILE, field=f"{_FIELD}.methods")
        if not self._settings.blocks:
            raise InputError(
                "scores are of blocks, of which there are none", file=_FILE, field=_FIELD,
                remedy="Name blocks, or leave it out",
            )  # fmt: skip
        for method in settings.methods:
            for need in SCORES[method].needs:
                if need is Need.IMAGES:
                    raise InputError(
                        f"'{method}' runs models again over turned images, which is not done here",
                        file=_FILE, field=f"{_FIELD}.methods", remedy="Leave it out",
                    )  # fmt: skip
                kept = OUTPUTS_FOR.get(need, ())
                if kept and not set(kept) & set(self._study.inference.outputs):
                    raise InputError(
                        f"'{method}' needs {need.value}", file=_FILE, field="inference.outputs",
                        remedy=f"Add {' or '.join(kept)}",
                    )  # fmt: skip

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
                    found[suite, run.model] = Scored(suite, run.model, batch, sources)
        return found

    @cached_property
    def tested(self) -> dict[str, TestedModels]:
        """Models on the parts of their sources, those of the same sources and seed together."""
        batches: dict[str, list[str]] = {}
        for one in self.models.values():
            batches.setdefault(one.source_batch, []).append(one.model)
        trained = self._trained()
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
        first = self._trained()[one.model].validation[0]
        return [index(one.batch), index(one.source_batch), self._study.dataset_files(first)[0]]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the scores of a model on a suite."""
        settings, study, suite = self._settings.scores, self._study, wildcards.suite
        assert settings is not None
        trained = self._trained()[wildcards.scored]
        return {
            "given": {
                "suite": asdict(Suite(suite, study.suites[suite].members)),
                "base": trained.validation_text,
                "classes": study.dataset_files(trained.validation[0])[0],
                "rule": {},
                "files": {
                    "folder": study.predictions_folder,
                    "outputs": [name for name in study.inference.outputs if name != "top"],
                },
            },
            "reference": trained.train_text,
            "members": [wildcards.scored],
            "methods": list(settings.methods),
            "options": {"n_prototypes": AccuracyPredictionSettings().n_prototypes},
            "views": {},
            "seeds": [0],
        }
