"""Computation of one model's scores on every set of a suite."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.output_files import OutputFiles, check_same_datapoints
from matcheval.accuracy_prediction.scores import ALL_SCORES, AnyScore
from matcheval.accuracy_prediction.scores.agreement import (
    POOL_SCORES,
    Agreements,
    PoolScore,
    agreement,
    score_models,
)
from matcheval.accuracy_prediction.scores.outputs import (
    ClassRule,
    Outputs,
    class_rule,
    restrict,
)
from matcheval.accuracy_prediction.scores.score import (
    Need,
    NotAvailableError,
    Score,
    Sides,
    Sources,
    missing_inputs,
)
from matcheval.datasets.folders import read_description
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError
from matcheval.io.columns import DATASET, MODEL, fraction
from matcheval.io.tables import Column, TableSchema, write_table

SUITE = Column("suite", pa.string(), "", "name of the suite")
METHOD = (
    Column("method", pa.string(), "", "name of the method"),
    Column("variant", pa.string(), "", "variant of the method; empty for the default"),
)
SET = (
    MODEL,
    SUITE,
    Column("base", pa.string(), "", "name of the base set"),
    DATASET,
    Column("group", pa.string(), "", "group of the set; empty if not said"),
    Column("subgroup", pa.string(), "", "subgroup of the set; empty if not said"),
    Column("severity", pa.float64(), "1", "severity of the shift; NaN if not said"),
)
SCORE = (
    *METHOD,
    Column("seed", pa.int64(), "1", "seed of random splits, draws and initial values"),
    Column("view", pa.string(), "", "all datapoints of the set, or which of them"),
    Column("score", pa.float64(), "", "value of the score; NaN if there is none"),
)
TRUTH = (
    Column("n", pa.int64(), "datapoints", "of the set, of the classes that count"),
    Column("n_base", pa.int64(), "datapoints", "of the base, of the same classes"),
    fraction("accuracy_base", "accuracy on these datapoints of the base"),
    fraction("accuracy", "true accuracy on the set; NaN if it has no labels"),
)

SCORES = TableSchema(
    "scores",
    (
        *SET,
        *SCORE,
        *TRUTH,
        Column("reason", pa.string(), "", "why there is no score; empty if there is one"),
    ),
)

LOGGER = logging.getLogger(__name__)

WHOLE = "all"
_SIZE = "n="


@dataclass(frozen=True)
class Views:
    """Which parts."""

    sizes: tuple[int, ...] = ()
    draws: int = 5
    missing_classes: Literal["none", "singles", "pairs"] = "none"
    whole_accuracy: bool = False

    def accuracy(self, view: str, whole: float, part: float) -> float:
        """Return the true accuracy on a part."""
        return whole if self.whole_accuracy and view.startswith(_SIZE) else part

    def of(
        self, target: Outputs, name: str, classes: Sequence[str]
    ) -> Iterator[tuple[str, int, Outputs]]:
        """Yield the parts of a set, without the whole."""
        for size in self.sizes:
            for draw in range(self.draws if size < len(target) else 0):
                rng = np.random.default_rng([draw, size, crc32(name.encode())])
                yield f"{_SIZE}{size}", draw, target.rows(rng.permutation(len(target))[:size])
        if self.missing_classes == "none" or target.labels is None:
            return
        labels = target.labels.reshape(len(target), -1)  # of some datapoints perhaps several
        present = np.unique(labels)
        for count in (1, 2) if self.missing_classes == "pairs" else (1,):
            for chosen in combinations(range(len(classes)), count):
                kept = np.asarray(~np.isin(labels, chosen).any(axis=1))
                if np.isin(chosen, present).all() and kept.any():
                    missing = "+".join(classes[label] for label in chosen)
                    yield f"without {missing}", 0, target.rows(kept)


_OF_MODELS = "needs a single model: agreement is not computed for ensembles"
_WHOLE_RULE, _NO_VIEWS = ClassRule(), Views()


@dataclass(frozen=True)
class SuiteOutputs:
    """Models' outputs on the sets of a suite and on its base: where they lie, what counts of them.

    Attributes
    ----------
    suite : Suite
    base : str
        Name of the labelled set.
    classes : sequence of str, or Path
        Names of the base's classes, or the base's description, which has them; empty for numbers.
    rule : ClassRule
        How classes are treated; those that count follow from the members of the suite.
    files : OutputFiles
    """

    suite: Suite
    base: str
    classes: Sequence[str] | Path
    rule: ClassRule
    files: OutputFiles

    def columns(self, model: str, member: Member) -> dict[str, Any]:
        """Return the columns of tables that name model, suite and set."""
        return {
            "model": model, "suite": self.suite.name, "base": self.base, "dataset": member.dataset,
            "group": member.group, "subgroup": member.subgroup,
            "severity": np.nan if member.severity is None else member.severity,
        }  # fmt: skip


class SuiteReader:
    """Cuts a model's outputs on the base and the sets of a suite to the classes that count."""

    def __init__(self, given: SuiteOutputs, base: Outputs) -> None:
        self.given, self.base, self._rule = given, base, given.rule
        classes = given.classes
        names: Sequence[str] = (
            read_description(classes.parent)["classes"] if isinstance(classes, Path) else classes
        )
        n_classes = 1 + int(base.predicted.max(initial=-1))
        if base.probabilities is not None:
            n_classes = base.probabilities.shape[1]
        self.classes = names or [str(label) for label in range(n_classes)]
        self._bases: dict[ClassRule, Outputs] = {}

    def sides(self, member: Member, target: Outputs) -> tuple[Outputs, Outputs]:
        """Return the outputs on base and set, of the classes that count."""
        matrices = (self.base.probabilities, target.probabilities)
        widths = [matrix.shape[1] for matrix in matrices if matrix is not None]
        if len(set(widths)) > 1:
            raise InputError(
                f"the model gives {widths[1]} classes on '{member.dataset}', and {widths[0]} on "
                "the base",
                remedy="All sets must be of the base's label space",
            )
        rule = self.rule_of(member)
        if rule not in self._bases:
            self._bases[rule] = restrict(self.base, rule, is_base=True)
        return self._bases[rule], restrict(target, rule, is_base=False)

    def rule_of(self, member: Member) -> ClassRule:
        """Return which classes count on a set."""
        if not member.counting:
            return _WHOLE_RULE
        return class_rule(
            self.classes, dict(member.groups) or member.classes, members=self._rule.members,
            renormalise=self._rule.renormalise,
            restrict_argmax=self._rule.restrict_argmax,
        )  # fmt: skip

    def names(self, member: Member) -> list[str]:
        """Return the names of the classes that count on a set, by label of the cut outputs."""
        if member.groups:
            return [name for name, _ in member.groups]
        columns = self.rule_of(member).columns
        return [self.classes[column[0]] for column in columns] or list(self.classes)


@dataclass
class ModelScorer:
    """Computes the scores of one model."""

    sources: Sources
    scores: Sequence[AnyScore]
    views: Views = _NO_VIEWS
    is_ensemble: bool = False
    _fitted: dict[str, Any] = field(default_factory=dict)

    def rows(
        self, name: str, base: Outputs, target: Outputs, classes: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the scores on a set and on its parts, which have no scores of a pool."""
        whole = [(WHOLE, self.sources.seed, target)]
        for view, seed, part in chain(whole, self.views.of(target, name, classes)):
            sides = Sides(base, part, self.sources.seed)
            truth = {
                "n": len(part), "n_base": len(base), "accuracy_base": base.accuracy,
                "accuracy": self.views.accuracy(view, target.accuracy, part.accuracy),
            }  # fmt: skip
            for score in self.scores:
                if view == WHOLE or isinstance(score, Score):
                    value, reason = self._compute(score, sides)
                    yield {
                        "method": score.method, "variant": score.variant, "seed": seed,
                        "view": view, "score": value, **truth, "reason": reason,
                    }  # fmt: skip

    def _compute(self, score: AnyScore, sides: Sides) -> tuple[float, str]:
        if not isinstance(score, Score):
            return np.nan, _OF_MODELS if self.is_ensemble else f"needs {Need.MODELS.value}"
        if not all(np.isfinite(one.confidences).all() for one in (sides.base, sides.target)):
            return np.nan, "confidences are not finite numbers"
        missing = missing_inputs(score, self.sources, sides.target)
        if missing:
            return np.nan, f"needs {missing[0].value}"
        try:
            if score.name not in self._fitted:
                self._fitted[score.name] = score.fitted(self.sources)
            value = score.compute(self._fitted[score.name], sides)
        except NotAvailableError as error:
            return np.nan, str(error)
        return (value, "") if np.isfinite(value) else (np.nan, "the score is not a finite number")


def score_suite(
    model: str,
    reader: SuiteReader,
    scorers: Sequence[ModelScorer],
    read: Callable[[str], Outputs],
) -> pd.DataFrame:
    """Compute the scores of a model on all sets of a suite."""
    rows = []
    scorers = [*scorers[:1], *(replace(one, views=_NO_VIEWS) for one in scorers[1:])]
    for member in reader.given.suite.members:
        known = reader.given.columns(model, member)
        sides = reader.sides(member, read(member.dataset))
        for scorer in scorers:
            found = scorer.rows(member.dataset, *sides, reader.names(member))
            rows += [known | row for row in found]
    return pd.DataFrame(rows, columns=SCORES.names)


_UNDETERMINED = "the agreements of its pairs do not determine it"


@dataclass
class _Pool:
    """The predicted classes of all models on a set, cut to the classes that count."""

    dataset: str
    predicted: list[npt.NDArray[np.int16]] = field(default_factory=list)
    correct: list[npt.NDArray[np.bool_] | None] = field(default_factory=list)
    _first: tuple[str, Outputs] | None = None

    def __len__(self) -> int:
        """Return the number of datapoints."""
        return len(self.predicted[0])

    @property
    def accuracies(self) -> list[float]:
        """Accuracies of the models; NaN where there are no labels."""
        return [float("nan") if one is None else float(one.mean()) for one in self.correct]

    def add(self, model: str, outputs: Outputs) -> None:
        """Add a model's outputs, which are on the same datapoints as those added before."""
        if self._first is None:
            lean = replace(outputs, logits=None, probabilities=None, features=None, statistics=None)
            self._first = model, lean
        check_same_datapoints(self._first, (model, outputs), self.dataset)
        self.predicted.append(outputs.predicted.astype(np.int16))
        self.correct.append(None if outputs.labels is None else outputs.correct)

    def parts(self, views: Views, classes: Sequence[str]) -> Iterator[tuple[str, int, "_Pool"]]:
        """Yield the set and its parts, as `Views.of`."""
        assert self._first is not None
        yield WHOLE, 0, self
        numbered = replace(self._first[1], predicted=np.arange(len(self)))
        for view, draw, part in views.of(numbered, self.dataset, classes):
            rows = part.predicted
            correct = [None if one is None else one[rows] for one in self.correct]
            yield view, draw, _Pool(self.dataset, [one[rows] for one in self.predicted], correct)


def score_pool(
    given: SuiteOutputs,
    models: Sequence[str],
    scores: Sequence[PoolScore],
    read: Callable[[str, str], Outputs],
    single: Collection[str] = (),
    views: Views = _NO_VIEWS,
) -> pd.DataFrame:
    """Compute the scores of all models on all sets of a suite."""
    rules: dict[str, ClassRule] = {}  # which classes count on every set
    names: dict[str, list[str]] = {}
    bases: dict[ClassRule, _Pool] = {}
    for model in models:
        outputs = read(given.base, model)
        if not rules:
            reader = SuiteReader(given, outputs)
            rules = {member.dataset: reader.rule_of(member) for member in given.suite.members}
            names = {member.dataset: reader.names(member) for member in given.suite.members}
            del reader  # it holds the outputs
        for one in dict.fromkeys(rules.values()):
            bases.setdefault(one, _Pool(given.base)).add(
                model, restrict(outputs, one, is_base=True)
            )
    of_base = {one: agreement(np.stack(pool.predicted)) for one, pool in bases.items()}
    in_pool = np.array([model not in single for model in models])
    rows = []
    for member in given.suite.members:
        counting, pool = rules[member.dataset], _Pool(member.dataset)
        for model in models:
            pool.add(model, restrict(read(member.dataset, model), counting, is_base=False))
        known = bases[counting]
        for view, draw, part in pool.parts(views, names[member.dataset]):
            of_target = agreement(np.stack(part.predicted))
            agreements = Agreements(of_target, of_base[counting], np.array(known.accuracies))
            true = [
                views.accuracy(view, *pair)
                for pair in zip(pool.accuracies, part.accuracies, strict=True)
            ]
            for score in scores:
                try:
                    values, reason = score_models(score, agreements, in_pool), ""
                except InputError as error:
                    values, reason = np.full(len(models), np.nan), str(error)
                each = zip(models, values, known.accuracies, true, strict=True)
                for model, value, accuracy_base, accuracy in each:
                    rows.append(
                        given.columns(model, member) | {
                            "method": score.method, "variant": score.variant, "seed": draw,
                            "view": view, "score": value, "n": len(part), "n_base": len(known),
                            "accuracy_base": accuracy_base, "accuracy": accuracy,
                            "reason": reason or ("" if np.isfinite(value) else _UNDETERMINED),
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows, columns=SCORES.names)


def write_scores(
    *,
    scored: str,
    given: SuiteOutputs,
    reference: str | None,
    members: Sequence[str],
    methods: Sequence[str],
    options: Mapping[str, Any],
    views: Views,
    seeds: Sequence[int],
    scores: Path,
) -> None:
    """Write the scores of one model, or of an ensemble, on all sets of a suite."""

    def read(names: str) -> Outputs:
        return given.files.read_mean(names, members, scored)

    of_reference = read(reference) if reference else None
    reader = SuiteReader(given, read(given.base))
    chosen = [ALL_SCORES[name] for name in methods]
    scorers = [
        ModelScorer(
            Sources(reader.base, of_reference, options, seed), chosen, views,
            is_ensemble=len(members) > 1,
        )
        for seed in seeds
    ]  # fmt: skip
    table = score_suite(scored, reader, scorers, read)
    write_table(SCORES.from_frame(table), scores)
    LOGGER.info("%s: %d sets, %d scores", scored, len(given.suite.members), table["score"].count())


def write_agreement(
    *,
    given: SuiteOutputs,
    models: Sequence[str],
    single: Sequence[str],
    methods: Sequence[str],
    views: Views,
    scores: Path,
) -> None:
    """Write the scores of how often the models of a study agree on each set of a suite."""
    in_parts = {member.dataset for member in given.suite.members if member.counting}

    def read(name: str, model: str) -> Outputs:
        # Predicted classes are enough, except where the argmax is restricted to some of them.
        whole = not in_parts if name == given.base else name not in in_parts
        return given.files.read(name, model, wanted=() if whole else ("logits",))

    chosen = [POOL_SCORES[name] for name in methods]
    table = score_pool(given, models, chosen, read, single, views)
    write_table(SCORES.from_frame(table), scores)
    LOGGER.info("%s: %d sets, %d models", given.suite.name, len(given.suite.members), len(models))
