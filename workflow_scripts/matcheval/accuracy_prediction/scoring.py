"""Scores of one model, or of all models of a pool, on every set of a suite and on parts of it.

Parts of a set are of fewer datapoints or fewer classes: P2, Figures 4A and 3C.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.output_files import OutputFiles, check_same_datapoints
from matcheval.accuracy_prediction.scores import ALL_SCORES, AnyScore, agreement
from matcheval.accuracy_prediction.scores.agreement import POOL_SCORES, PoolScore
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs, class_rule, restrict
from matcheval.accuracy_prediction.scores.score import (
    Data,
    NotAvailableError,
    Noted,
    Score,
    Sides,
    Sources,
    missing_inputs,
)
from matcheval.datasets.folders import read_description
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError
from matcheval.io.tables import DATASET, MODEL, Column, TableSchema, fraction

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
    *SET,
    *SCORE,
    *TRUTH,
    Column("reason", pa.string(), "", "why there is no score, or how far to rely on it"),
)

LOGGER = logging.getLogger(__name__)

WHOLE = "all"
_SIZE = "n="
_WITHOUT = "without "


Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class Subsets:
    """Which subsets of test sets are scored, too: of some size at random, or without classes."""

    test_sizes: tuple[int, ...] = ()
    draws: int = 5
    missing_classes: Literal["none", "singles", "pairs"] = "none"

    def parts(
        self, target: Outputs, dataset: str, classes: Sequence[str], left_out: Sequence[str] = ()
    ) -> Iterator[tuple[str, int, Rows | None]]:
        """Yield view, number of the draw and rows (None: all) of a set and of each of its subsets.

        Classes are left out one or two at a time. Sets without one of the suite's stay whole where
        it is left out, so that errors with and without it are of the same sets.
        """
        yield WHOLE, 0, None
        for size in self.test_sizes:
            for draw in range(self.draws if size < len(target) else 0):
                rng = np.random.default_rng([draw, size, crc32(dataset.encode())])
                yield f"{_SIZE}{size}", draw, rng.permutation(len(target))[:size]
        counts = {"none": (), "singles": (1,), "pairs": (1, 2)}[self.missing_classes]
        for count in counts:
            for chosen in combinations(left_out, count):
                labels = [label for label, name in enumerate(classes) if name in chosen]
                kept = np.asarray(~np.isin(target.label_rows, labels).any(axis=1))
                if kept.any():
                    yield f"{_WITHOUT}{'+'.join(chosen)}", 0, kept


_OF_MODELS = "needs a single model: agreement is not computed for ensembles"
_WHOLE_RULE, _NO_SUBSETS = ClassRule(), Subsets()


@dataclass(frozen=True)
class SuiteOutputs:
    """Where models' outputs on the base and the sets of a suite lie, and which classes count.

    `classes` are the names of the base's, or its description, which has them; empty for numbers.
    Which classes count follows from the members of the suite, `rule` is how they are treated.
    """

    suite: Suite
    base: str
    classes: Sequence[str] | Path
    rule: ClassRule
    files: OutputFiles

    def columns(self, model: str, member: Member) -> dict[str, Any]:
        """Return the columns that name model, suite, base and set, with the set's groups."""
        return {
            "model": model, "suite": self.suite.name, "base": self.base, "dataset": member.dataset,
            "group": member.group, "subgroup": member.subgroup,
            "severity": np.nan if member.severity is None else member.severity,
        }  # fmt: skip


class SuiteReader:
    """Reads a model's outputs on base and test sets, restricted to the classes that count."""

    def __init__(self, stored: SuiteOutputs, read: Callable[[str], Outputs]) -> None:
        self.stored, self.read = stored, read
        self.base = base = read(stored.base)
        classes = stored.classes
        if isinstance(classes, Path):
            classes = read_description(classes.parent)["classes"]
        n_classes = base.n_classes or 1 + int(base.predicted.max(initial=-1))
        self.classes: Sequence[str] = classes or [str(label) for label in range(n_classes)]
        self._bases: dict[ClassRule, Outputs] = {}

    def sides(self, member: Member) -> tuple[Outputs, Outputs]:
        """Return the outputs on base and test set, restricted to the classes that count."""
        target = self.read(member.dataset)
        widths = self.base.n_classes, target.n_classes
        if all(widths) and widths[0] != widths[1]:
            raise InputError(
                f"the model gives {widths[1]} classes on '{member.dataset}', and {widths[0]} on "
                "the base",
                remedy="All sets must be of the base's label space",
            )
        rule = self.class_rule_of(member)
        if rule not in self._bases:
            self._bases[rule] = restrict(self.base, rule, is_base=True)
        return self._bases[rule], restrict(target, rule, is_base=False)

    def class_rule_of(self, member: Member) -> ClassRule:
        """Return the rule by which classes count on a set."""
        if not member.counting:
            return _WHOLE_RULE
        return class_rule(self.classes, dict(member.groups) or member.classes, self.stored.rule)

    def class_names(self, member: Member) -> list[str]:
        """Return the names of the classes, or groups, that count on a set, in order of labels."""
        if member.groups:
            return [name for name, _ in member.groups]
        columns = self.class_rule_of(member).columns
        return [self.classes[column[0]] for column in columns] or list(self.classes)

    @property
    def suite_class_names(self) -> list[str]:
        """Names of the classes that count on any set of the suite."""
        names = (name for member in self.stored.suite.members for name in self.class_names(member))
        return list(dict.fromkeys(names))


@dataclass
class ModelScorer:
    """Computes several scores of one model, or of an ensemble, fitting each of them once."""

    sources: Sources
    scores: Sequence[AnyScore]
    is_ensemble: bool = False
    _fitted: dict[str, Any] = field(default_factory=dict)

    def rows(self, sides: Sides, *, with_pool_scores: bool) -> Iterator[dict[str, Any]]:
        """Yield a row per score of a set; if asked for, also NaN rows for scores of a pool."""
        for score in self.scores:
            if with_pool_scores or isinstance(score, Score):
                value, reason = self._compute(score, sides)
                name = {"method": score.method, "variant": score.variant}
                yield name | {"score": value, "reason": reason}

    def _compute(self, score: AnyScore, sides: Sides) -> tuple[float, str]:
        """Return the score with a remark on it, or NaN with the reason."""
        if not isinstance(score, Score):
            return np.nan, _OF_MODELS if self.is_ensemble else f"needs {Data.MODELS.value}"
        if not all(np.isfinite(side.confidences).all() for side in (sides.base, sides.target)):
            return np.nan, "confidences are not finite numbers"
        if missing := missing_inputs(score, self.sources, sides.target):
            return np.nan, f"needs {missing[0].value}"
        try:
            if score.name not in self._fitted:
                self._fitted[score.name] = score.fitted(self.sources)
            value = score.compute(self._fitted[score.name], sides)
        except NotAvailableError as error:
            return np.nan, str(error)
        if not np.isfinite(value):
            return np.nan, "the score is not a finite number"
        return float(value), value.note if isinstance(value, Noted) else ""


def score_suite(
    model: str, reader: SuiteReader, scorers: Sequence[ModelScorer], subsets: Subsets = _NO_SUBSETS
) -> pd.DataFrame:
    """Tabulate a model's scores on the sets of a suite; of the first scorer also on subsets."""
    rows = []
    for member in reader.stored.suite.members:
        base, target = reader.sides(member)
        described = reader.stored.columns(model, member) | {
            "n_base": len(base), "accuracy_base": base.accuracy,
        }  # fmt: skip
        for scorer in scorers:
            seed = scorer.sources.seed
            scored_subsets = subsets if scorer is scorers[0] else _NO_SUBSETS
            names = reader.class_names(member)
            parts = scored_subsets.parts(target, member.dataset, names, reader.suite_class_names)
            for view, draw, chosen in parts:
                part = target if chosen is None else target.rows(chosen)
                truth = {
                    "seed": seed if chosen is None else draw, "view": view, "n": len(part),
                    "accuracy": part.accuracy,
                }  # fmt: skip
                scored = scorer.rows(Sides(base, part, seed), with_pool_scores=chosen is None)
                rows += [described | truth | row for row in scored]
    return _drop_absent_classes(pd.DataFrame(rows, columns=SCORES.names))


def _drop_absent_classes(scores: pd.DataFrame) -> pd.DataFrame:
    """Drop the rows of views without some classes if no set of the suite has any of these."""
    whole = scores[scores["view"] == WHOLE].drop_duplicates("dataset").set_index("dataset")["n"]
    cut = scores["view"][scores["n"] < scores["dataset"].map(whole)]
    return scores[~scores["view"].str.startswith(_WITHOUT) | scores["view"].isin(cut)]


@dataclass
class _Pool:
    """Predictions of all models on a set, restricted to the classes that count."""

    dataset: str
    predicted: list[npt.NDArray[np.int16]] = field(default_factory=list)
    correct: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    first: tuple[str, Outputs] | None = None

    def add(self, model: str, outputs: Outputs) -> None:
        """Add a model's outputs; refuse those on other datapoints than the first model's."""
        if self.first is None:
            lean = replace(outputs, logits=None, probabilities=None, features=None, statistics=None)
            self.first = model, lean
        check_same_datapoints(self.first, (model, outputs), self.dataset)
        self.predicted.append(outputs.predicted.astype(np.int16))
        self.correct.append(outputs.correct)

    def parts(
        self, subsets: Subsets, classes: Sequence[str], left_out: Sequence[str] = ()
    ) -> Iterator[tuple[str, int, int, Floats, Floats]]:
        """Yield view, draw, size, pairwise agreements and accuracies of the set and its subsets."""
        assert self.first is not None
        predicted, correct = np.stack(self.predicted), np.stack(self.correct)
        for view, draw, chosen in subsets.parts(self.first[1], self.dataset, classes, left_out):
            rows = slice(None) if chosen is None else chosen
            part, agreed = correct[:, rows], agreement.agreement(predicted[:, rows])
            yield view, draw, part.shape[1], agreed, part.mean(axis=1)


def score_pool(
    stored: SuiteOutputs, models: Sequence[str], scores: Sequence[PoolScore],
    read: Callable[[str, str], Outputs], single: Collection[str] = (),
    subsets: Subsets = _NO_SUBSETS, recipes: Sequence[str] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate the agreement scores of all models on all sets of a suite.

    `recipes` names the recipe of each model without its seed; None if they are not known.
    """
    recipe_numbers = None if recipes is None else np.unique(recipes, return_inverse=True)[1]
    members, in_pool = stored.suite.members, np.array([model not in single for model in models])
    reader = SuiteReader(stored, lambda name: read(name, models[0]))
    rules = {member.dataset: reader.class_rule_of(member) for member in members}
    names = {member.dataset: reader.class_names(member) for member in members}
    suite_classes = reader.suite_class_names
    del reader  # it holds the outputs
    pools = {rule: _Pool(stored.base) for rule in rules.values()}
    for model in models:
        outputs = read(stored.base, model)
        for rule, pool in pools.items():
            pool.add(model, restrict(outputs, rule, is_base=True))
    bases = {rule: next(pool.parts(_NO_SUBSETS, ())) for rule, pool in pools.items()}
    rows = []
    for member in members:
        rule, pool = rules[member.dataset], _Pool(member.dataset)
        for model in models:
            pool.add(model, restrict(read(member.dataset, model), rule, is_base=False))
        *_, n_base, agreed_base, accuracy_base = bases[rule]
        for view, draw, n, agreed, accuracy in pool.parts(
            subsets, names[member.dataset], suite_classes
        ):
            agreements = agreement.Agreements(agreed, agreed_base, accuracy_base, recipe_numbers)
            for score in scores:
                try:
                    values, reason = score.of_models(agreements, in_pool), ""
                except NotAvailableError as error:
                    values, reason = np.full(len(models), np.nan), str(error)
                for i, model in enumerate(models):
                    undetermined = "" if np.isfinite(values[i]) else score.undetermined
                    rows.append(
                        stored.columns(model, member) | {
                            "method": score.method, "variant": score.variant, "seed": draw,
                            "view": view, "score": values[i], "n": n, "n_base": n_base,
                            "accuracy_base": accuracy_base[i], "accuracy": accuracy[i],
                            "reason": reason or undetermined,
                        }
                    )  # fmt: skip
    return _drop_absent_classes(pd.DataFrame(rows, columns=SCORES.names))


def write_scores(
    *, scored: str, stored: SuiteOutputs, reference: str | None, members: Sequence[str],
    methods: Sequence[str], options: Mapping[str, Any], subsets: Subsets, seeds: Sequence[int],
    scores: Path,
) -> None:  # fmt: skip
    """Write the scores of one model, or of an ensemble, on all sets of a suite."""
    reader = SuiteReader(stored, stored.files.reader(members, scored))
    reference_outputs = reader.read(reference) if reference else None
    chosen, is_ensemble = [ALL_SCORES[name] for name in methods], len(members) > 1
    scorers = [
        ModelScorer(Sources(reader.base, reference_outputs, options, seed), chosen, is_ensemble)
        for seed in seeds
    ]
    table = score_suite(scored, reader, scorers, subsets)
    SCORES.write(table, [scores])
    LOGGER.info("%s: %d sets, %d scores", scored, len(stored.suite.members), table["score"].count())


def write_agreement(
    *, stored: SuiteOutputs, models: Sequence[str], single: Sequence[str], methods: Sequence[str],
    subsets: Subsets, recipes: Sequence[str], scores: Path,
) -> None:  # fmt: skip
    """Write the scores that are computed from the agreement of models, on all sets of a suite."""
    in_parts = {member.dataset for member in stored.suite.members if member.counting}

    def read(dataset: str, model: str) -> Outputs:
        """Read predicted classes; logits only where the argmax is restricted to some classes."""
        whole = not in_parts if dataset == stored.base else dataset not in in_parts
        return stored.files.read(dataset, model, wanted=() if whole else ("logits",))

    chosen = [POOL_SCORES[name] for name in methods]
    table = score_pool(stored, models, chosen, read, single, subsets, recipes)
    SCORES.write(table, [scores])
    LOGGER.info("%s: %d sets, %d models", stored.suite.name, len(stored.suite.members), len(models))
