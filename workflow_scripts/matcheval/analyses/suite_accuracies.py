"""Accuracies of models on the sets of a suite, compared with a base set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.datasets import suites
from matcheval.datasets.folders import read_description
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.suites import Groups, Member, Suite
from matcheval.errors import configuration_error
from matcheval.figures import style
from matcheval.figures.forms import draw_rows, drawing, name_rows
from matcheval.io import tables
from matcheval.io.text_tables import counted
from matcheval.predictions.correctness import Correctness, dataset_correctness
from matcheval.predictions.records import Predictions
from matcheval.predictions.suspicions import SameModels
from matcheval.settings import Need
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.checks import check_label_spaces, check_need
from matcheval.study.rules import Wildcards
from matcheval.study.tables import SuiteFiles, SuiteTableAnalysis


@dataclass
class SuiteCorrectness:
    """Reads which predictions on the sets of a suite, and on its base, are right."""

    files: SuiteFiles
    _bases: dict[Groups, Correctness] = field(default_factory=dict)
    _same_models: SameModels = field(default_factory=SameModels)

    def __post_init__(self) -> None:
        """Find out the classes of every set, where they are known."""
        self._classes = {
            name: tuple(read_description(self.files.folders[name])["classes"])
            if name in self.files.folders
            else spec.settings.known_classes
            for name, spec in self.files.specs.items()
        }

    def __call__(self, name: str, member: Member) -> Correctness:
        """Return which predictions are right on a member's set, or on the base for the member."""
        if name != self.files.base:
            return self._read_correctness(name, member.groups, member.all_labels)
        if member.groups not in self._bases:
            self._bases[member.groups] = self._read_correctness(name, member.groups, "")
        return self._bases[member.groups]

    @property
    def counting(self) -> dict[str, npt.NDArray[np.int64]]:
        """Labels of the classes that count, for each dataset on which not all classes do.

        Raises an error if a set's classes are others than the base's.
        """
        labels, base, suite = {}, self.files.base, self.files.suite
        base_classes = self._classes[base]
        for member in suite.members:
            set_classes = self._classes[member.dataset]
            if set_classes and base_classes and set_classes != base_classes:
                difference = compare_classes(set_classes, base_classes)
                raise configuration_error(
                    f"dataset '{member.dataset}' has, against the base '{base}', {difference}",
                    field=f"suite_accuracies.suites.{suite.name}",
                )
            if member.counting:
                classes = list(set_classes or base_classes or ())
                labels[member.dataset] = np.array(list(map(classes.index, member.counting)))
        return labels

    def _read_correctness(self, name: str, groups: Groups, all_labels: str) -> Correctness:
        """Read correctness on a set; with a file `all_labels`, any label of an image is right."""
        files = self.files
        classes = self._classes[name] or self._classes[files.base] or ()
        several = None
        if all_labels:
            several = suites.AllLabels(Path(all_labels), files.folders[name], groups).read()

        def is_right(predictions: Predictions) -> npt.NDArray[np.bool_]:
            if several is None and not groups:
                return predictions.correct
            labels = predictions.label if several is None else several[predictions.index]
            return suites.right_predictions(predictions.prediction, labels, groups, classes)

        return dataset_correctness(
            files.specs[name], files.models, files.paths(name), is_right, self._same_models
        )


def means_by_set(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, least and largest accuracy of the models on each set."""
    sets = table.groupby("dataset", sort=False)
    accuracies = sets["accuracy_set"].agg(["mean", "min", "max"])
    rows = sets.first().join(accuracies).assign(gap=sets["gap"].mean())
    return rows.assign(models=table["model"].nunique()).reset_index()


SCHEMA = tables.TableSchema(
    "accuracies on a suite",
    tables.MODEL,
    tables.text("suite", "name of the suite"),
    tables.DATASET,
    tables.text("group", "group of the set; empty if not said"),
    tables.text("subgroup", "subgroup of the set; empty if not said"),
    tables.SEVERITY,
    *tables.accuracy("set", "datapoints of the set, of the classes that its member names"),
    tables.text("base", "name of the base"),
    *tables.accuracy("base", "datapoints of the base, of the same classes"),
    tables.fraction("gap", "accuracy on the base minus accuracy on the set"),
    tables.CONFIDENCE_LEVEL,
    summary=means_by_set,
    shown={
        "Set": "{dataset}", "Group": "{group}", "Subgroup": "{subgroup}",
        "Severity": "{severity:s}", "n": "{n_set:,}",
        "Mean accuracy of {models} models (%)": "{mean:.1%}",
        "Lowest (%)": "{min:.1%}", "Highest (%)": "{max:.1%}", "Mean gap to {base}": "{gap:+.1%}",
    },
)  # fmt: skip


def tabulate(files: SuiteFiles, *, confidence: float = 0.95) -> pd.DataFrame:
    """Read the predictions on a suite and its base, and tabulate accuracies on its sets."""
    correctness = SuiteCorrectness(files)
    return tabulate_suite(files.suite, files.base, correctness, correctness.counting, confidence)


def tabulate_suite(
    suite: Suite, base: str, correctness: Callable[[str, Member], Correctness],
    counting: Mapping[str, npt.NDArray[np.int64]], confidence: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate models' accuracies on a suite's sets and on a base, with intervals, and their gaps.

    `counting` has the classes that count, by dataset; on other sets, all do.
    """
    rows = []
    for member in suite.members:
        on_member, classes = correctness(member.dataset, member), counting.get(member.dataset)
        on_set = _correct_in_classes(on_member, classes, member.dataset, suite.name)
        on_base = _correct_in_classes(correctness(base, member), classes, base, suite.name)
        for model, set_correct, base_correct in zip(on_member.models, on_set, on_base, strict=True):
            of_set = accuracy_columns("set", set_correct, confidence)
            of_base = accuracy_columns("base", base_correct, confidence)
            rows.append({
                "model": model, "suite": suite.name, "dataset": member.dataset,
                "group": member.group, "subgroup": member.subgroup, "base": base,
                "severity": float("nan") if member.severity is None else member.severity,
                **of_set, **of_base, "confidence": confidence,
                "gap": of_base["accuracy_base"] - of_set["accuracy_set"],
            })  # fmt: skip
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _correct_in_classes(
    correctness: Correctness, labels: npt.NDArray[np.int64] | None, dataset: str, suite: str
) -> npt.NDArray[np.bool_]:
    """Return which predictions are right, by model, on the datapoints of some classes or of all."""
    if labels is None:
        return correctness.right
    rows = np.isin(correctness.labels, labels)
    if not rows.any():
        problem = f"dataset '{dataset}' has no datapoints of the classes of a member"
        remedy = "Correct 'classes', or leave the set out"
        raise configuration_error(problem, field=f"suites.{suite}", remedy=remedy)
    return correctness.right[:, rows]


_ROW, _LEAST_ROW = 0.16, 0.105  # inches per set: of few, and of many
_MARGIN = 1.4
_PAGE, _HIGHEST = 9.5, 40.0  # inches


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot the accuracy of every model on every set, and means over models on set and base."""
    sets = table.groupby("dataset", sort=False)
    first, models = sets.first(), table["model"].nunique()
    means = 100 * sets[["accuracy_set", "accuracy_base"]].mean()
    row_height = np.clip((_PAGE - _MARGIN) / len(first), _LEAST_ROW, _ROW)
    size = 5.5, min(_MARGIN + row_height * len(first), _HIGHEST)
    title = f"{table['suite'].iloc[0]}: accuracy on its sets, {counted(models, 'model')}"
    with drawing(*size, title) as figure:
        axes, at = figure.add_subplot(), range(len(first))
        if models > 1:
            values = (100 * of_set.to_numpy(np.float64) for _, of_set in sets["accuracy_set"])
            draw_rows(axes, dict(enumerate(values)), style.MODELS.color)
        label = "mean over models" if models > 1 else "the model"
        axes.plot(means["accuracy_set"], at, "k|", markersize=65 * row_height, label=label)
        # It differs between sets where members name classes.
        base = style.shortened(first["base"].iloc[0], 20)
        label = f"{'mean ' * (models > 1)}on {base}"
        axes.plot(means["accuracy_base"], at, label=label, **style.REFERENCE)
        groups = first["group"].tolist()
        for row, (before, group) in enumerate(pairwise(groups)):
            if group != before:
                axes.axhline(row + 0.5, color="0.5", linewidth=0.5)
        name_rows(axes, first.index.tolist(), fontsize=style.NOTE_SIZE)
        axes.set_xlabel("Accuracy (%)")
        style.legend_above(axes, ncols=3)
    return figure


class SuiteAccuracies(SuiteTableAnalysis):
    """Tabulate the accuracies of all models on the sets of a suite, and their gap to the base."""

    name: ClassVar[str] = "suite_accuracies"
    caption: ClassVar[str] = (
        "Accuracies of all models on the sets of suite **{{ snakemake.wildcards.suite }}**, and "
        "on the base that they are compared with."
    )

    def check_suite(self, name: str, base: str) -> None:
        """Check that correctness on all sets can be known, and that members' classes exist."""
        study, field = self.study, f"suites.{name}"
        check_need(self.study, base, Need.CORRECTNESS, self.field("suites", name))
        for member in study.suites[name].members:
            check_need(self.study, member.dataset, Need.CORRECTNESS, field)
            check_label_spaces(study, self.field("suites", name), base, member.dataset)
            if member.all_labels:
                of = f"{field}: all_labels of '{member.dataset}'"
                check_need(study, member.dataset, Need.IMAGES, of)
            for dataset in (base, member.dataset) if member.groups else ():
                if not study.datasets[dataset].has_probabilities:
                    problem = f"'{dataset}' has no prediction files, which groups of classes need"
                    remedy = "Leave 'groups' out, or the suite out of suite_accuracies"
                    raise configuration_error(problem, field=field, remedy=remedy)
            spec = study.label_source(member.dataset)
            classes = spec.settings.known_classes
            if member.counting and classes is not None:
                suites.check_subset(name, member, classes)
            elif member.counting and not spec.has_images:
                problem = f"the classes of '{member.dataset}' are not known by name"
                raise configuration_error(problem, field=field, remedy="Leave 'classes' out")

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the prediction files, and the sets' descriptions, which list their classes."""
        names, study = self.datasets_of(wildcards.suite), self.study
        with_images = [name for name in names if study.datasets[name].has_images]
        described = (file for name in with_images for file in study.description_inputs(name)[:1])
        return [*super().inputs(wildcards), *dict.fromkeys(described)]
