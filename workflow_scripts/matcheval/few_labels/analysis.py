"""How many labels an interval of the accuracy needs, by how they are drawn: simulated.

All labels are known, so that draws can be repeated: each is made and evaluated by the functions
behind `label-plan` and `estimate-accuracy`, for the accuracy on exactly these datapoints, which may
come in groups.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.accuracy_prediction.output_files import read_user_file
from matcheval.accuracy_prediction.scores.confidence import fit_temperature
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError, configuration_error
from matcheval.few_labels.accuracy import Question, choose_method, estimate_by
from matcheval.few_labels.draws import draw
from matcheval.few_labels.estimators import Estimate
from matcheval.few_labels.inputs import Sample
from matcheval.few_labels.plans import needs_of_designs
from matcheval.figures import style
from matcheval.figures.forms import drawing, panels
from matcheval.io import tables
from matcheval.io.text_tables import counted, level_text
from matcheval.predictions.softmax import softmax
from matcheval.settings import (
    Count,
    Integer,
    Name,
    Need,
    Number,
    Ref,
    Seed,
    SomeUnique,
    UniqueTuple,
)
from matcheval.statistics.intervals import LEVEL, FloatArray
from matcheval.study.checks import check_need
from matcheval.study.rules import Wildcards
from matcheval.study.tables import SuiteFiles, SuiteTableAnalysis, SuiteTableSettings


class Design(StrEnum):
    """How labels are drawn; `random` and `control` are the same draw, evaluated differently."""

    RANDOM = "random"
    CONTROL = "control"
    MIXED = "mixed"

    @property
    def drawn(self) -> str:
        """The name that `label-plan` has for how the labels are drawn."""
        return "random" if self is Design.CONTROL else self.value


_PANELS = 6  # sets that have one each; of more, medians over sets are shown
LABELS = {
    Design.RANDOM: "random, labels alone", Design.CONTROL: "random + confidence",
    Design.MIXED: "mixed strata",
}  # fmt: skip
_LOOKS = {
    Design.RANDOM: style.GAP, Design.CONTROL: style.ORIGINAL,
    Design.MIXED: style.MATCHED_REPLICATION,
}  # fmt: skip


def _add_panel(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column `panel` for figures: the set's name, or one name for all of many sets."""
    n_sets = table["dataset"].nunique()
    return table.assign(panel=table["dataset"] if n_sets <= _PANELS else f"{n_sets} sets")


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """Summarize the results over models and sets, a row for each panel and design."""
    rows, keys = _add_panel(table), ["panel", "design"]
    once = rows.drop_duplicates(["model", "dataset", "design"]).groupby(keys, sort=False)
    coverage = rows.groupby(keys, sort=False)["coverage"]
    summary = once[["planned", "labels_needed"]].median().assign(
        least=once["labels_needed"].min(), most=once["labels_needed"].max(),
        saving=once["saving"].mean(), coverage=coverage.mean(), lowest=coverage.min(),
        points=100 * table["wish"].iloc[0],
    )  # fmt: skip
    return summary.reset_index()


SCHEMA = tables.TableSchema(
    "accuracy from few labels",
    tables.MODEL,
    tables.text("collection", "name of the pair or suite"),
    tables.DATASET,
    tables.Column("n", pa.int32(), "datapoints", "size of the set"),
    tables.fraction("accuracy", "on the set, by all labels"),
    tables.text("base", "name of the set that a temperature is fitted on"),
    tables.Column(
        "temperature", pa.float64(), "1",
        "of the confidences; NaN: as stored, as the study keeps no logits",
    ),
    tables.text(
        "design", "random, control (random draw, confidences as control) or mixed",
        label=lambda design: LABELS[Design(design)],
    ),
    tables.Column("labels", pa.int32(), "labels", "number"),
    tables.Column("repetitions", pa.int32(), "1", "draws of so many labels"),
    tables.fraction("half_width", "of the interval, mean over draws"),
    tables.fraction("coverage", "share of draws whose interval holds the accuracy"),
    tables.fraction("error", "absolute error of the estimate, mean over draws"),
    tables.fraction("wish", "half-width that is asked for"),
    tables.Column(
        "labels_needed", pa.int32(), "labels",
        "at which the mean half-width is the wish, interpolated",
    ),
    tables.Column(
        "is_bound", pa.bool_(), "", "whether fewer may do, as the least that are tried do"
    ),
    tables.Column("planned", pa.int32(), "labels", "that label-plan names from confidences"),
    tables.fraction("saving", "1 minus labels_needed over those of random; below 0: costs"),
    tables.Column("seed", pa.int64(), "1", "of the draws"),
    tables.CONFIDENCE_LEVEL,
    shown={
        "Set": "{panel}", "Labels drawn": "{design}",
        "Labels for ± {points:g} points": "{labels_needed:,.0f} ({least:,} to {most:,})",
        "Planned": "{planned:,.0f}", "Saved (%)": "{saving:.0%}", "Coverage (%)": "{coverage:.1%}",
        "Lowest (%)": "{lowest:.1%}",
    },
    summary=_summary,
)  # fmt: skip


def tabulate(
    files: SuiteFiles,
    *,
    designs: Sequence[str],
    labels: Sequence[int],
    half_width: float = 0.02,
    repetitions: int = 200,
    seed: int = 0,
    confidence: float = LEVEL,
) -> pd.DataFrame:
    """Simulate all designs, for every model on every set of a suite but the base."""
    rows: list[dict[str, Any]] = []
    sets = [name for name in files.suite.datasets if name != files.base]
    seeds = range(seed * repetitions, (seed + 1) * repetitions)
    for at, model in enumerate(files.models):
        base, temperature = _read_outputs(files, files.base, at), float("nan")
        if base.logits is not None and base.labels is not None:
            temperature = fit_temperature(base.logits, base.labels)
        for dataset in sets:
            outputs = _read_outputs(files, dataset, at)
            f = outputs.confidences
            if temperature == temperature and outputs.logits is not None:
                f = softmax(outputs.logits, temperature).max(axis=1)
            y = (outputs.predicted == outputs.labels).astype(np.float64)
            if not (numbers := [n for n in labels if n < len(y)]):
                raise InputError(
                    f"has {len(y)} datapoints, and {min(labels)} labels are the fewest to draw",
                    file=dataset, field="few_labels.labels", remedy="Name smaller numbers",
                )  # fmt: skip
            common = {
                "model": model, "collection": files.suite.name, "dataset": dataset, "n": len(y),
                "accuracy": float(y.mean()), "base": files.base, "temperature": temperature,
                "repetitions": repetitions, "wish": half_width, "seed": seed,
                "confidence": confidence,
            }  # fmt: skip
            kinds = [*map(Design, designs)]
            simulated = simulate_designs(f, y, kinds, numbers, half_width, seeds, confidence)
            rows += [common | row for row in simulated]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _read_outputs(files: SuiteFiles, dataset: str, model: int) -> Outputs:
    path = Path(files.paths(dataset)[model])
    return read_user_file(path, layout=files.layout(dataset)).outputs


def simulate_designs(
    f: FloatArray, y: FloatArray, designs: Sequence[Design], numbers: Sequence[int],
    half_width: float, seeds: Iterable[int], level: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield a row per design and number of labels: simulated results, and the labels needed."""
    planned = {need.design: need.planned for need in needs_of_designs(f, half_width, level)}
    of_random = 0
    for design in dict.fromkeys([Design.RANDOM, *designs]):  # which others are compared with
        results = [simulate(design, f, y, n, seeds, level) for n in numbers]
        half_widths = [result["half_width"] for result in results]
        needed = interpolate_labels(numbers, half_widths, half_width, len(y))
        of_random = of_random or needed
        common: dict[str, Any] = {
            "design": design.value, "labels_needed": needed, "saving": 1 - needed / of_random,
            "is_bound": needed <= numbers[0], "planned": planned[design.drawn],
        }  # fmt: skip
        for n, result in zip(numbers, results, strict=True):
            yield common | {"labels": n} | result


def simulate(
    design: Design, f: FloatArray, y: FloatArray, n: int, seeds: Iterable[int], level: float
) -> dict[str, float]:
    """Draw n labels for each seed; return mean half-width, coverage and mean absolute error."""
    truth, exact = float(y.mean()), dict[int, Estimate]()
    half_widths, errors, holds = list[float](), list[float](), list[bool]()
    for seed in seeds:
        drawn = draw(design.drawn, f, n, seed)
        correct, question = y[drawn.rows], Question(f, drawn, "set", level)
        n_correct = int(correct.sum())
        asked = "hypergeometric" if design is Design.RANDOM else "auto"
        method, _ = choose_method(asked, question, n, n_correct)
        estimate = exact.get(n_correct) if method == "hypergeometric" else None
        if estimate is None:
            sample = Sample(drawn.rows, drawn.rows, drawn.stratum, ())
            estimate = estimate_by(method, correct, sample, question)
        if method == "hypergeometric":  # which takes longest, and depends on the count only
            exact[n_correct] = estimate
        half_widths.append(estimate.half_width)
        errors.append(abs(estimate.estimate - truth))
        holds.append(estimate.lower - 1e-9 <= truth <= estimate.upper + 1e-9)
    return {
        "half_width": float(np.mean(half_widths)), "coverage": float(np.mean(holds)),
        "error": float(np.mean(errors)),
    }  # fmt: skip


def interpolate_labels(
    numbers: Sequence[int], half_widths: Sequence[float], half_width: float, size: int
) -> int:
    """Return how many labels give a half-width, interpolated; the fewest tried if these suffice.

    In between, squares of half-widths are linear in 1/n, as those of normal intervals are: they
    are 0 where all datapoints are labelled.
    """
    inverse, squares = 1 / np.append(numbers, size), np.append(half_widths, 0) ** 2
    at = int((squares <= half_width**2).argmax())
    if not at:
        return numbers[0]
    share = (squares[at - 1] - half_width**2) / (squares[at - 1] - squares[at])
    return int(np.ceil(1 / (inverse[at - 1] + share * (inverse[at] - inverse[at - 1])) - 1e-9))


def plot(table: pd.DataFrame, confidence: float = LEVEL) -> "style.Figure":
    """Plot half-widths against numbers of labels, a line per design, as medians over models."""
    from matplotlib.ticker import LogLocator

    rows, needed = _add_panel(table), _summary(table).set_index(["panel", "design"])
    names, first = rows["panel"].unique().tolist(), table.iloc[0]
    half_width, models = 100 * first["wish"], counted(table["model"].nunique(), "model")
    if len(names) < table["dataset"].nunique():
        models += " and the sets with more datapoints"
    n_sets = rows.groupby(["panel", "labels"])["dataset"].transform("nunique")
    rows = rows.loc[n_sets > rows.groupby("panel")["dataset"].transform("nunique") / 2]
    ticks = sorted(rows["labels"].unique())
    temperature = "temperature-scaled" if table["temperature"].notna().all() else "as stored"
    n_rows, n_columns = style.grid_shape(len(names), 3)
    note = (
        f"Half-widths of {level_text(confidence)} intervals against the number of labels: mean "
        f"over {first['repetitions']} draws, medians over {models}; confidences are {temperature}. "
        "In legends: the median number of labels that reach the dashed line."
    )
    title = f"{first['collection']}: labels for ± {half_width:g} points"
    with drawing(1.0 + 2.2 * n_columns, 1.0 + 1.9 * n_rows, title, note) as figure:
        for axes, panel in zip(panels(figure, len(names), 3), names, strict=True):
            groups = rows[rows["panel"] == panel].groupby(["design", "labels"], sort=False)
            for name, widths in groups["half_width"].median().groupby("design", sort=False):
                look, number = _LOOKS[Design(str(name))], needed.loc[(panel, name), "labels_needed"]
                axes.plot(
                    widths.index.get_level_values("labels"), 100 * widths, marker=look.marker,
                    label=f"{LABELS[Design(str(name))]}: {number:,.0f}", **look.line_options(),
                )  # fmt: skip
            axes.axhline(half_width, **style.REFERENCE)
            axes.set(xscale="log", yscale="log")
            axes.minorticks_off()
            axes.set_xticks(ticks, [style.count(tick) for tick in ticks])
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.legend(loc="lower left", fontsize=style.NOTE_SIZE)  # lines fall to the right
            axes.set_title(style.shortened(panel), fontsize=style.NOTE_SIZE)
        figure.supylabel("Half-width (points)", fontsize=style.LABEL_SIZE)
    return figure


class FewLabelsSettings(SuiteTableSettings):
    """Pairs and suites whose labels are drawn again and again."""

    pairs: UniqueTuple[Annotated[Name, Ref("pair", Need.PROBABILITIES)]] = Field(
        (), description="Pairs: labels of the replication are drawn"
    )
    designs: SomeUnique[Design] = Field(tuple(Design), description="How labels are drawn")
    half_width: Annotated[Number, Field(gt=0, lt=0.5)] = Field(
        0.02, description="Half-width of the interval that is asked for"
    )
    labels: SomeUnique[Annotated[Integer, Field(ge=2)]] = Field(
        (50, 100, 200, 400, 800), description="Numbers of labels; of a set, those below its size"
    )
    repetitions: Count = Field(200, description="Draws of each number of labels")
    seed: Seed = Field(0, description="Seed of the draws")


class FewLabels(SuiteTableAnalysis):
    """Simulate how many labels the accuracy on a set needs; a pair is taken as a suite."""

    name: ClassVar[str] = "few_labels"
    per = "collection"
    caption: ClassVar[str] = (
        "Half-widths of {level} intervals of the accuracy on the sets of "
        "**{{ snakemake.wildcards.collection }}** against the number of labels, by how these are "
        "drawn and evaluated: medians over models of means over draws of labels, all of which are "
        "known. Coverage is the share of intervals that hold the accuracy by all labels."
    )
    Settings: ClassVar[type[FewLabelsSettings]] = FewLabelsSettings
    settings: FewLabelsSettings

    def check(self) -> None:
        """Check names, and that no set counts only some of its datapoints, or several labels."""
        super().check()
        if self.settings.pairs:
            self.check_some_models()
        for pair in {*self.settings.pairs} & {*self.settings.suites}:
            field, remedy = self.field("suites"), "Rename one of them"
            raise configuration_error(f"'{pair}' is a pair, too", field=field, remedy=remedy)

    def check_suite(self, name: str, base: str) -> None:
        """Refuse sets without probabilities, or that do not count all datapoints by one label."""
        suite, field = self.study.suites[name], self.field("suites", name)
        for dataset in (base, *suite.datasets):
            check_need(self.study, dataset, Need.PROBABILITIES, field)
        for member in suite.members:
            if member.counting or member.all_labels:
                problem = f"'{member.dataset}' counts some classes, groups or several labels"
                raise configuration_error(problem, field=field, remedy=f"Leave '{name}' out")

    def collection(self, name: str) -> tuple[Suite, str]:
        """Return a suite and its base; for a pair, its replication as a suite and its original."""
        if name not in self.settings.pairs:
            return super().collection(name)
        pair = self.study.pairs[name]
        return Suite(name, (Member(pair.replication),)), pair.original

    @property
    def subjects(self) -> list[str]:
        """Names of pairs, then of suites."""
        return [*self.settings.pairs, *self.settings.suites]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of predictions that a table is made from."""
        names = self.datasets_of(wildcards.collection)
        files = (file for name in names for file in self.study.results_inputs(name, self.models))
        return list(dict.fromkeys(files))
