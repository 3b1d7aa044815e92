"""The result of `matcheval.compare`: tables, figures, text, and a folder of all of these."""

import math
import os
import shutil
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.api.output_folder import replace_files
from matcheval.errors import InputError, check_known
from matcheval.figures.style import save_figure, shortened
from matcheval.io.files import atomic_file, check_place, write_text
from matcheval.io.provenance import software_versions
from matcheval.io.tables import write_table
from matcheval.io.text_tables import aligned, counted
from matcheval.predictions.datapoints import datapoint_names
from matcheval.predictions.inputs import GAP_PARTS, GapEstimate, Shown, columns_of
from matcheval.predictions.layout import class_name
from matcheval.protocol import words
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.comparisons import suspicions_of, with_suspicions
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.gaps import GapTables
from matcheval.protocol.jobs import join_runs
from matcheval.protocol.schemas import CALIBRATION, GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.verdicts import Verdict
from matcheval.protocol.words import percent, points, with_interval
from matcheval.report.sections import Section, ShownFile
from matcheval.statistics.intervals import LEVEL
from matcheval.study.tables import AnalysisTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MATERIAL = 0.1  # spread between orders of picks, in half-widths of the interval
_KINDS = ("gaps", "matched_accuracy", "confidence", "reliability")
_ACCURACIES = (
    "accuracy_original", "accuracy_replication", "confidence_original", "confidence_replication"
)  # fmt: skip
_SIZES = ("n_original", "n_replication")
_GAPS = [f"{name}{end}" for name in GAP_PARTS for end in ("", "_low", "_high")]
_FEW = {  # columns that tables have unless all are asked for
    "gaps": ("criterion", *_SIZES, *_ACCURACIES, *_GAPS, "fraction_unmatched"),
    "models": ("criterion", "model", *_ACCURACIES, *_GAPS, "fraction_unmatched"),
    "accuracies": (
        "criterion", "model", *_SIZES, *_ACCURACIES, "matched_accuracy_original_mean",
        "matched_accuracy_replication_mean", "fraction_unmatched_mean",
    ),
}  # fmt: skip
_WIDTH = 100
_MAX_SHOWN = 10  # models that are all shown
_N_FIRST = 5  # of more
_NAME_WIDTH = 30
_FORMATS = ("pdf", "png")  # of figures on request; SVG, which the report shows, is always there
_IN_CHARTS = ("matched_accuracy", "gaps")  # figures whose numbers the page's charts show
Row = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ComparisonResult(Shown):
    """Models on two sets, before and after matching; what `compare` returns.

    `print(result)` shows what `matched-eval compare` prints, and a notebook the same as a table.

    Attributes
    ----------
    title : str
        What is compared.
    original, replication, source : str
        Names of the sets, and of the one in which matches were sought.
    models : tuple of str
        Names of the models.
    gaps : mapping of str to GapEstimate
        By criterion; of the one model, or of the mean over all.
    verdict : Verdict
        What the comparison shows, how sure that is, and what to do next; `print(result.verdict)`.
    warnings, notes : tuple of str
        What looks wrong, and where most targets are unmatched; what was recognised.
    analyses : tuple of str
        Further analyses, which are tables and figures by these names.
    """

    title: str
    original: str
    replication: str
    source: str
    models: tuple[str, ...]
    gaps: Mapping[str, GapEstimate]
    verdict: Verdict
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    analyses: tuple[str, ...]
    _compared: ComparedModels = field(repr=False)
    _estimates: GapTables = field(repr=False)
    _tables: Mapping[Criterion, pd.DataFrame] = field(repr=False)  # of `MODEL_TABLE`
    _analyses: Mapping[str, AnalysisTable] = field(repr=False)
    _margin: float = field(repr=False)
    _asked: str = field(repr=False)

    def __str__(self) -> str:
        """Return the text that `matched-eval compare` prints."""
        return describe(self)

    def _in_notebook(self) -> tuple[Sequence[str], pd.DataFrame]:
        """Return the lines and the table that a notebook shows."""
        head, *rows = _gap_table(self)
        claims = (f"{strength}: {text}" for strength, text in _claim_lines(self))
        return [self.title, *claims], pd.DataFrame(rows, columns=head)

    def to_pandas(self, table: str = "gaps", *, all: bool = False) -> pd.DataFrame:
        """Return one of the result tables; accuracies, confidences and gaps are fractions.

        Parameters
        ----------
        table : str
            `gaps`: a row per criterion, means over the models; `models`: the same quantities, a row
            per criterion and model; `accuracies`: accuracies, confidences and matched accuracies
            with their spread over seeds, a row per criterion and model. Or one of `analyses`.
        all : bool
            All columns, those of `matcheval.protocol.schemas.MEAN_GAPS`, of `GAPS` there, or of
            `MODEL_TABLE`, in place of the most important ones.

        Returns
        -------
        pandas.DataFrame
            A new table: `criterion`, `model`, numbers of datapoints (`n_original`, ...), accuracies
            and mean confidences (`accuracy_original`, `confidence_original`, ...), `gap`,
            `confidence_part`, `conditional_part` and `matched_gap` with the bounds of their
            intervals (`_low`, `_high`) and `fraction_unmatched`; of an analysis, the columns that
            its page describes.
        """
        if table in self.analyses:
            return self._analyses[table].table.copy()
        check_known("table", [table], (*_FEW, *self.analyses))
        parts = []
        for criterion, results in self._tables.items():
            part = results
            if table == "gaps":
                means, name = self._estimates.means, criterion.value
                part = means[means["matching"] == name].assign(**results[[*_ACCURACIES]].mean())
            elif table == "models":
                part = self._estimates.models[criterion.value]
                part = part.merge(results[["model", *_ACCURACIES]], on="model")
            parts.append(part)
        return columns_of(pd.concat(parts, ignore_index=True), _FEW[table], every=all)

    def plot(self, kind: str = "gaps", *, criterion: str | None = None) -> "Figure":
        """Draw a figure of one of the kinds below.

        Parameters
        ----------
        kind : str
            `gaps`: gaps, their parts and their narrowing; `matched_accuracy`: accuracy before and
            after matching; `confidence`: accuracy against mean confidence; `reliability`: accuracy
            against confidence in bins, of a single model. Or one of `analyses` that has a figure.
        criterion : str, optional
            One of `gaps`; by default the first. An analysis shows all.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot: a notebook shows it as the last value of a cell,
            `figure.savefig("gaps.pdf")` saves it.

        Raises
        ------
        InputError
            If there is no such figure or criterion; or `reliability` is asked of several models.
        """
        if kind in self.analyses:
            return self._analyses[kind].figure()
        check_known("kind of figure", [kind], (*_KINDS, *self.analyses))
        check_known("criterion", [criterion] if criterion else [], self.gaps)
        from matcheval.protocol.figures import plot_confidence, plot_gaps, plot_matched_accuracy
        from matcheval.protocol.reliability import plot_reliability

        chosen = Criterion(criterion or next(iter(self.gaps)))
        table, gaps = self._tables[chosen], self._estimates.models[chosen.value]
        if kind == "confidence":
            return plot_confidence(table)
        if kind == "matched_accuracy":
            return plot_matched_accuracy(table, gaps, chosen.description)
        if kind == "gaps":
            means = self._estimates.means
            mean = means[means["matching"] == chosen.value].iloc[0]
            return plot_gaps(table, gaps, mean, chosen.description)
        if (n := len(self.models)) > 1:
            problem = f"a reliability diagram is of one model, not of {n}"
            raise InputError(problem, remedy="Compare the model alone")
        return plot_reliability(self._matched[chosen])

    def save(self, folder: str | os.PathLike[str], *, figures: Sequence[str] = ()) -> list[Path]:
        """Write report, tables and figures to a folder, and return the paths of all files.

        Parameters
        ----------
        folder : path-like
            Created if need be. Files of an earlier comparison in it are replaced. The one to open
            is `report.html`.
        figures : sequence of str
            Formats of figures beside SVG: `pdf`, `png`.

        Raises
        ------
        InputError
            If the folder holds other files, or cannot be written.
        """
        check_known("format of figures", figures, _FORMATS)
        formats = tuple(dict.fromkeys(("svg", *figures)))
        return replace_files(Path(folder), lambda partial: _write_all(self, partial, formats))

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Write the report alone, a page that holds its figures, such as `report.html`."""
        check_place(Path(file))
        with TemporaryDirectory() as folder, atomic_file(file) as partial:
            self.save(folder)
            shutil.copyfile(Path(folder, "report.html"), partial)
        return Path(file)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all files to a folder: the name of `save` until 0.3."""
        message = "`write` is called `save`, and goes after 0.3"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.save(folder)

    @cached_property
    def _matched(self) -> dict[Criterion, MatchedModel]:
        """The first model, matched by each criterion, for what is shown of a single model only."""
        first, seeds = self._compared.comparisons[0], self._compared.seeds
        return {
            Criterion(name): MatchedModel.of(first, method, seeds, name)
            for name, method in self._compared.methods.items()
        }

    @property
    def _suspicions(self) -> list[tuple[str, str]]:
        """What looks wrong: (model or criterion, sentence) each."""
        seed_warnings = {c.description: self._warning_of_few_seeds(c) for c in self._tables}
        return [
            *((c.model, text) for c in self._compared.comparisons for text in suspicions_of(c)),
            *((title, text) for title, text in seed_warnings.items() if text),
        ]

    def _warning_of_few_seeds(self, criterion: Criterion) -> str:
        """Return a warning if other random picks would visibly move the mean matched gap."""
        interval = self.gaps[criterion.value].matched_gap
        half_width, n = (interval.high - interval.low) / 2, len(self._compared.seeds)
        errors = self._tables[criterion]["matched_gap_sem"].dropna()  # of models: independent
        spread = math.sqrt((errors**2).sum()) / max(len(errors), 1)
        if not spread > half_width * _MATERIAL:
            return ""
        needed = math.ceil(n * (spread / (half_width * _MATERIAL)) ** 2)
        return (
            f"the matched gap varies by {100 * spread:.2f} points with the order of picks "
            f"(standard deviation of means over {counted(n, 'seed')}), more than a tenth of the "
            f"half-width of its interval; about {needed:,} seeds bring it below"
        )


def describe(
    result: ComparisonResult, where: str = "to_pandas(...) has all", *, full: bool = False
) -> str:
    """Return the result as text: title, claims, next step and a table; `full` adds details.

    `where` says where the numbers are that are left out.
    """
    claims = _claim_lines(result)
    width = max(len(head) for head, _ in claims) + 2
    lines = [result.title, ""]
    lines += [_wrapped(head.ljust(width) + text, " " * width) for head, text in claims]
    first = result.to_pandas(all=True).iloc[0]
    if not full and any(claim.finding == "mixed" for claim in result.verdict.claims):
        lines += ["", *_model_lines(result, where)]
    lines += ["", *aligned(_gap_table(result)), "", _intervals_note(first)]
    if not full:
        lines.append(f"More numbers: {where}.")
    else:
        seeds = counted(len(result._compared.seeds), "seed")
        lines += ["", f"source {result.source}; ε = {first['epsilon']:g}, {seeds}"]
        for criterion in result._tables:
            lines += ["", *_matching_lines(result, criterion)]
        is_one = len(result.models) == 1
        lines += ["", *([confident_errors(result)] if is_one else _model_lines(result, where))]
    for analysis in result._analyses.values():
        lines += ["", *analysis.lines(where)]
    return "\n".join([*lines, ""])


def _claim_lines(result: ComparisonResult) -> list[tuple[str, str]]:
    """Return strength and sentence of each claim, and last `next` with the next step."""
    claims = [(claim.strength.value, claim.told) for claim in result.verdict.claims]
    return [*claims, ("next", result.verdict.next_step)]


def _gap_table(result: ComparisonResult) -> list[Row]:
    """Return rows of a text table: accuracies, confidences and gaps, means over the models."""
    n, table = len(result.models), result.to_pandas(all=True)
    first = table.iloc[0]
    names = (shortened(name, _NAME_WIDTH) for name in (result.original, result.replication))

    def on_both_sets(name: str) -> Iterator[str]:
        return (percent(first[f"{name}_{origin}"], 2) for origin in ("original", "replication"))

    rows: list[Row] = [
        (f"mean over {n} models" if n > 1 else "", *names, "gap (points)"),
        ("datapoints", f"{first['n_original']:,}", f"{first['n_replication']:,}", ""),
        ("accuracy", *on_both_sets("accuracy"), with_interval(first, "gap")),
        ("mean confidence", *on_both_sets("confidence"), with_interval(first, "confidence_fall")),
        ("explained by confidence", "", "", with_interval(first, "confidence_part")),
        ("not explained, by bins", "", "", with_interval(first, "conditional_part")),
    ]
    for criterion, (_, row) in zip(result._tables, table.iterrows(), strict=True):
        matched = result._tables[criterion]
        rows.append(
            (
                f"accuracy if matched on {criterion.matched_on}",
                percent(matched["matched_accuracy_original_mean"].mean(), 2),
                percent(matched["matched_accuracy_replication_mean"].mean(), 2),
                with_interval(row, "matched_gap"),
            )
        )
    return rows


def _intervals_note(gap: pd.Series) -> str:
    """Say what intervals are for, and whether they are by image or by group."""
    design = ", by image: the sets are paired" if gap["paired"] else ""
    if gap["n_groups"]:
        design = f", by groups (at least {gap['n_groups']} in a set)"
    return (
        f"Gap: original minus replication. Brackets: 95 % intervals for sampling the sets{design}."
    )


def _matching_lines(result: ComparisonResult, criterion: Criterion) -> list[str]:
    """Return lines on the results of matching by one criterion."""
    means = result._estimates.means
    gap = means[means["matching"] == criterion.value].iloc[0]
    if pd.isna(gap["matched_gap"]):
        undefined = "the matched accuracy is undefined."
        return [f"No target was matched by {criterion.description}: {undefined}"]
    lines = [
        f"matched gap: {with_interval(gap, 'matched_gap')}, {words.compare_matched_gap(gap)}",
        f"gap in terms of the matching: matched gap {points(gap['matched_gap'])}, source "
        f"selection {points(gap['source_selection'])}, dropped targets "
        f"{points(gap['dropped_targets'])}",
        f"matched pairs: {gap['n_matched']:,.0f}; unmatched targets: "
        f"{percent(gap['fraction_unmatched'], 2)}, accuracy on them "
        f"{percent(gap['unmatched_accuracy_target'], 2)}",
        gap["remarks"],
        result._warning_of_few_seeds(criterion),
    ]
    indented = (_wrapped("  " + line, " " * 4) for line in lines if line)
    return [f"{criterion.description}:", *indented]


def confident_errors(result: ComparisonResult) -> str:
    """Return text that names the most confident wrong predictions on the replication, if any."""
    predictions, layout = result._compared.comparisons[0].replication, result._compared.layout
    (wrong,) = np.nonzero(~predictions.correct)
    rows = wrong[np.argsort(-predictions.probability[wrong], kind="stable")[:_N_FIRST]]
    if not len(rows):
        return ""
    names, p = datapoint_names(predictions), predictions.probability
    labels, guesses = predictions.label, predictions.prediction
    texts = [
        f"{shortened(names[row], _NAME_WIDTH)} ({class_name(layout, int(labels[row]))} as "
        f"{class_name(layout, int(guesses[row]))}, {100 * p[row]:.1f} %)"
        for row in rows
    ]
    heading = f"Worth a look on {result.replication}, confident and wrong: "
    return _wrapped(heading + ", ".join(texts), "  ")


def _model_lines(result: ComparisonResult, where: str) -> list[str]:
    """Return a table of the most accurate models, as lines of text, and the range of all."""
    table = result.to_pandas("models")
    by_criterion = dict(list(table.set_index("model").groupby("criterion", sort=False)))
    first = next(iter(by_criterion.values()))
    numbers = first[["accuracy_original", "accuracy_replication", "gap"]].set_axis(
        ["original %", "replication %", "gap"], axis=1
    )
    for criterion in result._tables:
        numbers[f"on {criterion.matched_on}"] = by_criterion[criterion.value]["matched_gap"]
    numbers = numbers.sort_index().sort_values("original %", ascending=False, kind="stable")
    n = len(numbers) if len(numbers) <= _MAX_SHOWN else _N_FIRST
    ranges = numbers.agg(["min", "max"]).set_axis(["lowest in column", "highest in column"])
    rows: list[Row] = [("model", *numbers.columns)]
    for name, row in pd.concat([numbers.head(n), ranges]).iterrows():
        rows.append((shortened(str(name), _NAME_WIDTH), *map(points, row)))
    more = len(numbers) - n
    rest = f"... and {more} more models, less accurate on the original: {where}"
    return [*aligned(rows), *([rest] if more else [])]


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _write_all(result: ComparisonResult, folder: Path, formats: tuple[str, ...]) -> Iterator[Path]:
    """Write figures, tables, summary and report to a folder; yield their paths."""
    pair, figures = result._compared.pair.name, list[ShownFile]()
    for kind, stem, title, figure in _draw_figures(result):
        paths = [folder / "figures" / pair / f"{stem}.{suffix}" for suffix in formats]
        save_figure(figure, *paths)
        yield from paths
        if kind not in _IN_CHARTS:
            figures.append(ShownFile(tuple(map(str, paths)), title))
    for name, table in _named_tables(result):
        write_table(table, folder / name)
        yield folder / name
    for analysis in result._analyses.values():
        yield from analysis.write(folder, pair, formats)
    titles = {criterion.value: criterion.description for criterion in result._tables}
    texts = {
        "summary.md": words.summary_page(
            result.title, result._estimates.means, titles, [result.verdict], result._suspicions
        ),
        "report.html": _render_report(result, folder, figures, titles),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
        yield folder / name


def _named_tables(result: ComparisonResult) -> Iterator[tuple[str, pa.Table]]:
    """Yield the path and the table of each file of numbers but those of further analyses."""
    pair, estimates = result._compared.pair.name, result._estimates
    for suffix in ("csv", "parquet"):
        yield f"gaps/{pair}.{suffix}", MEAN_GAPS.from_frame(estimates.means)
        yield f"gaps/{pair}/calibration.{suffix}", CALIBRATION.from_frame(estimates.calibration)
    for criterion, table in result._tables.items():
        place, runs = f"{pair}/{criterion.value}", estimates.runs[criterion.value]
        yield f"matched/{place}.parquet", join_runs(runs)
        if len(runs) == 1:
            pairs = result._matched[criterion].pairs()
            yield f"pairs/{place}/{_model_file_name(result)}.parquet", pairs
        for suffix in ("csv", "parquet"):
            models = with_suspicions(MODEL_TABLE.from_frame(table), result._suspicions)
            yield f"tables/{place}.{suffix}", models
            gaps = GAPS.from_frame(estimates.models[criterion.value])
            yield f"gaps/{place}.{suffix}", gaps


def _draw_figures(result: ComparisonResult) -> "Iterator[tuple[str, str, str, Figure]]":
    """Yield kind, path below the pair without suffix, title, and figure, for each figure."""
    yield "confidence", "confidence", "Accuracy and confidence", result.plot("confidence")
    kinds = [("matched_accuracy", "matched_accuracy", "Matched accuracy"), ("gaps", "gaps", "Gaps")]
    if len(result.models) == 1:
        kinds.append(("reliability", f"reliability/{_model_file_name(result)}", "Reliability"))
    for criterion in result._tables:
        for kind, stem, title in kinds:
            figure = result.plot(kind, criterion=criterion.value)
            yield kind, f"{criterion.value}/{stem}", f"{title}, {criterion.description}", figure


def _model_file_name(result: ComparisonResult) -> str:
    """Return the first model's name as the stem of a file."""
    return result.models[0].replace("/", "_")


def _render_report(
    result: ComparisonResult, folder: Path, figures: Sequence[ShownFile], titles: dict[str, str]
) -> str:
    """Return the report as HTML, made from the files that a comparison has in a folder."""
    from matcheval.report.pages import PACKAGES, Provenance, digests, render_report

    pair = result._compared.pair.name
    data = {name: [str(folder / name / pair / f"{m}.parquet") for m in titles]
            for name in ("tables", "gaps")}  # fmt: skip
    data["means"] = [str(folder / "gaps" / f"{pair}.parquet")]
    data["calibration"] = [str(folder / "gaps" / pair / "calibration.parquet")]
    values = {
        "titles": titles, "places": [[pair, m] for m in titles], "margin": result._margin,
        "confidence": LEVEL, "confident_errors": f" {confident_errors(result)}".rstrip(),
    }  # fmt: skip
    gaps = Section(
        "matching", "Gaps before and after matching", "matcheval.protocol", tuple(figures), data,
        values,
    )  # fmt: skip
    sections = [gaps, *(table.section(folder, pair) for table in result._analyses.values())]
    inputs = [file.path for files in result._compared.files for file in files.values()]
    provenance = Provenance(
        software_versions(*PACKAGES), result._asked, [digests(inputs, "Prediction files")]
    )
    return render_report(result.title, sections, provenance)
