"""A comparison as text for a terminal, and as a folder of report, tables and figures."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.api.comparison import AnalysisTable, Compared
from matcheval.errors import InputError, check_known
from matcheval.figures.saving import save_figure
from matcheval.figures.style import shortened
from matcheval.io.files import atomic_file, check_place
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TABLE_SUFFIXES, aligned, counted, markdown
from matcheval.predictions.datapoints import datapoint_names
from matcheval.predictions.layout import class_name
from matcheval.protocol import words
from matcheval.protocol.comparisons import with_suspicions
from matcheval.protocol.schemas import CALIBRATION, GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import Criterion
from matcheval.protocol.tables import join_runs
from matcheval.protocol.words import percent, points, with_interval
from matcheval.statistics.intervals import LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.report.sections import Section, ShownFile

_WIDTH = 100
_MAX_SHOWN = 10  # models that are all shown
_N_FIRST = 5  # of more
_MAX_ROWS = 20  # of a table on the terminal: all classes of CIFAR-10 by both criteria
_NAME_WIDTH = 30
FORMATS = ("pdf", "png")  # of figures on request; SVG, which the report shows, is always there
_IN_CHARTS = ("matched_accuracy", "gaps")  # figures whose numbers the page's charts show
_PARTIAL = ".partial"  # folder in which a comparison is written, before it replaces another
LIST = "files.json"  # what a comparison wrote into its folder
_WRITER = "matched-eval compare"
Row = tuple[str, ...]


def describe(compared: Compared, where: str) -> str:
    """Format a comparison as text: all numbers for one model, an overview for several.

    `where` says where the numbers of all models are.
    """
    is_one = len(compared.models.comparisons) == 1
    lines = _of_one(compared) if is_one else _of_many(compared, where)
    claims = [(claim.strength, claim.told) for claim in compared.verdict.claims]
    width = max(len(strength) for strength, _ in claims) + 2
    verdict = [
        textwrap.fill(text, _WIDTH, initial_indent=head.ljust(width), subsequent_indent=" " * width)
        for head, text in [*claims, ("next", compared.verdict.next_step)]
    ]
    text = "\n".join([compared.title, "", *verdict, *lines, ""])
    for name, analysis in compared.analyses.items():
        table = markdown(analysis.schema.text_columns(analysis.table)).splitlines(keepends=True)
        shown, more = "".join(table[: _MAX_ROWS + 2]), len(table) - 2 - _MAX_ROWS
        rest = f"... and {more:,} more rows: {where}\n" if more > 0 else ""
        text += f"\n{name} (docs/analyses.md#{name})\n\n{shown}{rest}"
    return text


def _of_one(compared: Compared) -> list[str]:
    """Return accuracies in percent and gaps in percentage points, and what follows from them."""
    rows, notes = list[Row](), list[str]()
    for criterion, table in compared.tables.items():
        row = table.iloc[0]
        rows += [] if rows else _plain_rows(compared, row)
        rows += _matched_rows(compared, criterion, row)
        notes += _notes(compared, criterion)
        if pd.isna(row.matched_gap_mean):
            undefined = "the matched accuracy is undefined."
            notes.append(f"No target was matched by {criterion.description}: {undefined}")
    first = compared.gaps.means.iloc[0]
    spread = ", ± standard deviation over them" if first["n_seeds"] > 1 else ""
    footer = (
        f"ε = {first['epsilon']:g}, {counted(first['n_seeds'], 'seed')}{spread}; gaps in "
        "percentage points\n"
        "The standard deviation is of the random choices of the matching, not of the sampling of "
        f"the sets.\n{_brackets(first)}"
    )
    return ["", *aligned(rows), "", footer, "", _parts(first), *notes, *_worth_a_look(compared)]


def _worth_a_look(compared: Compared) -> list[str]:
    """Name the most confident wrong predictions on the replication."""
    predictions, layout = compared.models.comparisons[0].replication, compared.models.layout
    (wrong,) = np.nonzero(~predictions.correct)
    rows = wrong[np.argsort(-predictions.probability[wrong], kind="stable")[:_N_FIRST]]
    if not len(rows):
        return []
    names, p = datapoint_names(predictions), predictions.probability
    labels, guesses = predictions.label, predictions.prediction
    texts = [
        f"{shortened(names[row], _NAME_WIDTH)} ({class_name(layout, int(labels[row]))} as "
        f"{class_name(layout, int(guesses[row]))}, {100 * p[row]:.1f} %)"
        for row in rows
    ]
    heading = f"worth a look on {compared.models.pair.replication}, confident and wrong: "
    return ["", _wrapped(heading + ", ".join(texts))]


def _notes(compared: Compared, criterion: Criterion) -> list[str]:
    """Say what follows from a matched gap, a sentence per line."""
    means = compared.gaps.means
    gap = means[means["matching"] == criterion.value].iloc[0]
    if pd.isna(gap["matched_gap"]):
        return []
    lines = [
        f"matched gap: {with_interval(gap, 'matched_gap')}, {words.narrowing(gap)}",
        f"gap in terms of the matching: matched gap {points(gap['matched_gap'])}, source "
        f"selection {points(gap['source_selection'])}, dropped targets "
        f"{points(gap['dropped_targets'])}",
        gap["remarks"],
        compared.unsteady(criterion),
    ]
    return ["", f"{criterion.description}:", *(_wrapped(line, "  ") for line in lines if line)]


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _parts(gap: pd.Series) -> str:
    """Say what of the gap confidence explains, which no matching is needed for."""
    share = words.share_of_confidence(gap)
    return _wrapped(
        f"gap {with_interval(gap, 'gap')}: confidence explains "
        f"{with_interval(gap, 'confidence_part')}"
        + (f" ({share})" if "[" in share else "")
        + f", {with_interval(gap, 'conditional_part')} remains at equal confidence"
    )


def _brackets(gap: pd.Series) -> str:
    """Say what intervals are for, and what they take to be independent if not each datapoint."""
    design = ", by image: the sets are paired" if gap["paired"] else ""
    if gap["n_groups"]:
        design = f", by groups (at least {gap['n_groups']} in a set)"
    return f"Brackets: 95 % intervals for the sampling of the sets{design}."


def _plain_rows(compared: Compared, row: pd.Series) -> list[Row]:
    """Build the header and the rows that do not depend on the matching."""
    pair, source_first = compared.models.pair, compared.models.comparisons[0].source_is_original
    confidences = row.confidence_original, row.confidence_replication
    accuracies = row.accuracy_original, row.accuracy_replication
    return [
        ("", pair.original, pair.replication, "gap"),
        ("role", *(("source", "target") if source_first else ("target", "source")), ""),
        ("datapoints", f"{row.n_original:,}", f"{row.n_replication:,}", ""),
        ("accuracy", *(_hundredfold(a, unit=" %") for a in accuracies), _hundredfold(row.gap)),
        (
            "mean confidence", *(_hundredfold(c, unit=" %") for c in confidences),
            _hundredfold(confidences[0] - confidences[1]),
        ),
    ]  # fmt: skip


def _matched_rows(compared: Compared, criterion: Criterion, row: pd.Series) -> list[Row]:
    """Build the title and the rows of a criterion."""
    target_last = compared.models.comparisons[0].source_is_original

    def cell(name: str, unit: str = " %") -> str:
        return _hundredfold(row[f"{name}_mean"], row[f"{name}_std"], unit)

    def of_target(title: str, name: str) -> Row:
        return (title, "", cell(name), "") if target_last else (title, cell(name), "", "")

    n_target = row.n_replication if target_last else row.n_original
    return [
        ("", "", "", ""),
        (criterion.description, "", "", ""),
        (
            "matched accuracy", cell("matched_accuracy_original"),
            cell("matched_accuracy_replication"), cell("matched_gap", ""),
        ),
        ("matched pairs", "", f"{n_target * (1 - row.fraction_unmatched_mean):,.0f}", ""),
        of_target("unmatched targets", "fraction_unmatched"),
        of_target("accuracy on unmatched", "unmatched_accuracy_target"),
    ]  # fmt: skip


def _hundredfold(mean: float, deviation: float = float("nan"), unit: str = "") -> str:
    """Return percent, or percentage points, with the standard deviation if there is one."""
    if pd.isna(mean):
        return "undefined"
    spread = "" if pd.isna(deviation) else f" ± {100 * deviation:.2f}"
    return f"{100 * mean:.2f}{spread}{unit}"


def _of_many(compared: Compared, where: str) -> list[str]:
    """Return mean and range over models, and the rows of the most accurate ones."""
    row = compared.gaps.means.iloc[0]
    lines = [
        f"{row['n_original']:,} and {row['n_replication']:,} datapoints, source {row['source']}; "
        f"ε = {row['epsilon']:g}, {counted(row['n_seeds'], 'seed')}; gaps in percentage points",
        "", *aligned(_overview(compared)), "", _brackets(row), "", _parts(row),
    ]  # fmt: skip
    for criterion in compared.tables:
        lines += _notes(compared, criterion)
    n = len(compared.models.comparisons)
    n_shown = n if n <= _MAX_SHOWN else _N_FIRST
    lines += ["", *aligned(_first_models(compared, n_shown))]
    if n > n_shown:
        lines.append(f"... and {n - n_shown} more models, less accurate on the original: {where}")
    return lines


def _short(title: str) -> str:
    """Return what comes before the parentheses: `criterion 1`."""
    return title.partition(" (")[0]


def _overview(compared: Compared) -> list[Row]:
    """Build rows of mean, lowest and highest value over the models."""
    accuracies = next(iter(compared.tables.values()))
    rows: list[Row] = [("", "mean", "lowest", "highest", "smaller for")]
    for origin in ("original", "replication"):
        values = accuracies[f"accuracy_{origin}"]
        of_values = values.mean(), values.min(), values.max()
        rows.append((f"accuracy, {origin}", *(percent(value, 2) for value in of_values), ""))
    for i, mean in compared.gaps.means.iterrows():
        models = compared.gaps.models[mean["matching"]]
        if i == 0:
            bounds = points(models["gap"].min()), points(models["gap"].max())
            rows.append(("gap", with_interval(mean, "gap"), *bounds, ""))
        name = f"matched gap, {_short(compared.titles[mean['matching']])}"
        narrower = f"{mean['n_narrower']} of {mean['n_models']}"
        bounds = points(models["matched_gap"].min()), points(models["matched_gap"].max())
        rows.append((name, with_interval(mean, "matched_gap"), *bounds, narrower))
    return rows


def _first_models(compared: Compared, n: int) -> list[Row]:
    """Build a row per model, of the first by accuracy on the original."""
    matched = {
        _short(compared.titles[name]): table.set_index("model")["matched_gap"]
        for name, table in compared.gaps.models.items()
    }
    table = next(iter(compared.tables.values())).sort_values(
        ["accuracy_original", "model"], ascending=[False, True]
    )
    heads = (f"matched, {title}" for title in matched)
    rows: list[Row] = [("model", "original", "replication", "gap", *heads)]
    for _, row in table.head(n).iterrows():
        accuracies = (percent(row[f"accuracy_{o}"], 2) for o in ("original", "replication"))
        gaps = (points(of_models[row["model"]]) for of_models in matched.values())
        rows.append((shortened(row["model"], _NAME_WIDTH), *accuracies, points(row["gap"]), *gaps))
    return rows


def check_folder(folder: Path) -> None:
    """Check that a folder can be written, and holds nothing but an earlier comparison."""
    check_place(folder / LIST)
    if _earlier(folder) is None and any(path.name != _PARTIAL for path in folder.iterdir()):
        remedy = "Name an empty or a new folder"
        raise InputError("holds files that no comparison wrote", file=folder, remedy=remedy)


def write_comparison(
    compared: Compared, folder: Path, command: str, formats: Sequence[str] = ()
) -> list[Path]:
    """Write what the workflow writes for a pair; once all is there, it replaces an earlier one.

    `command` is what was asked for, for the report; `formats` are those of figures beside SVG.
    """
    check_folder(folder)
    check_known("format of figures", formats, FORMATS)
    partial, earlier = folder / _PARTIAL, _earlier(folder) or []
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    try:
        formats = tuple(dict.fromkeys(("svg", *formats)))
        paths = _write_all(compared, partial, command, formats)
        names = [path.relative_to(partial).as_posix() for path in paths]
        _write_list(folder, [*names, *earlier])
        for name in {*earlier}.difference(names):
            _delete(folder, folder / name)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).replace(folder / name)
        _write_list(folder, names)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return [folder / name for name in names]


def _delete(folder: Path, path: Path) -> None:
    """Delete a file in a folder, and the folders that it leaves empty."""
    if not path.resolve().is_relative_to(folder.resolve()):
        return
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            break
        parent.rmdir()


def _write_list(folder: Path, names: Sequence[str]) -> None:
    with atomic_file(folder / LIST) as partial:
        text = json.dumps({"written_by": _WRITER, "files": names}, indent=1)
        partial.write_text(text, encoding="utf-8")


def _earlier(folder: Path) -> list[str] | None:
    """Return the names of the files that an earlier comparison wrote; None if there was none."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(listed, dict) or listed.get("written_by") != _WRITER:
        return None
    return [name for name in listed.get("files", []) if isinstance(name, str)]


def _write_all(
    compared: Compared, folder: Path, command: str, formats: tuple[str, ...]
) -> Iterator[Path]:
    from matcheval.report.sections import ShownFile

    figures: list[ShownFile] = []
    for kind, stem, title, figure in _figures(compared):
        paths = [folder / "figures" / f"{stem}.{suffix}" for suffix in formats]
        save_figure(figure, *paths)
        yield from paths
        if kind not in _IN_CHARTS:
            figures.append(ShownFile(tuple(map(str, paths)), title))
    for name, table in _tables(compared):
        write_table(table, folder / name)
        yield folder / name
    for name, analysis in compared.analyses.items():
        paths = [folder / name / f"{compared.pair}{suffix}" for suffix in TABLE_SUFFIXES]
        analysis.schema.write(analysis.table, paths)
        yield from paths
        if analysis.kind.has_figure:
            paths = [folder / "figures" / name / f"{compared.pair}.{end}" for end in formats]
            save_figure(analysis.figure(), *paths)
            yield from paths
    means, titles = compared.gaps.means, compared.titles
    judged, suspicions = [compared.verdict], compared.suspicions
    texts = {
        "summary.md": words.write_summary(compared.title, means, titles, judged, suspicions),
        "report.html": _report(compared, folder, figures, command),
    }
    for name, text in texts.items():
        with atomic_file(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        yield folder / name


def _tables(compared: Compared) -> Iterator[tuple[str, pa.Table]]:
    """Return tables with their paths, without those of the analyses."""
    pair = compared.pair
    for suffix in ("csv", "parquet"):
        yield f"gaps/{pair}.{suffix}", MEAN_GAPS.from_frame(compared.gaps.means)
        calibration = CALIBRATION.from_frame(compared.gaps.calibration)
        yield f"gaps/{pair}/calibration.{suffix}", calibration
    for criterion, table in compared.tables.items():
        place, runs = f"{pair}/{criterion.value}", compared.gaps.runs[criterion.value]
        yield f"matched/{place}.parquet", join_runs(runs)
        if len(runs) == 1:
            pairs = compared.matched[criterion].pairs()
            yield f"pairs/{place}/{_file_name(compared)}.parquet", pairs
        for suffix in ("csv", "parquet"):
            models = with_suspicions(MODEL_TABLE.from_frame(table), compared.suspicions)
            yield f"tables/{place}.{suffix}", models
            gaps = GAPS.from_frame(compared.gaps.models[criterion.value])
            yield f"gaps/{place}.{suffix}", gaps


def _figures(compared: Compared) -> "Iterator[tuple[str, str, str, Figure]]":
    """Return kinds of figures, their paths below `figures/` without suffix, titles, and figures."""
    pair = compared.pair
    confidence = compared.figure("confidence")
    yield "confidence", f"{pair}/confidence", "Accuracy and confidence", confidence
    kinds = [("matched_accuracy", "matched_accuracy", "Matched accuracy"), ("gaps", "gaps", "Gaps")]
    if len(compared.models.comparisons) == 1:
        kinds.append(("reliability", f"reliability/{_file_name(compared)}", "Reliability"))
    for c in compared.tables:
        for kind, stem, title in kinds:
            figure = compared.figure(kind, c)
            yield kind, f"{pair}/{c.value}/{stem}", f"{title}, {c.description}", figure


def _file_name(compared: Compared) -> str:
    """Return the name of the first model as part of a file's name."""
    return compared.models.comparisons[0].model.replace("/", "_")


def _report(compared: Compared, folder: Path, figures: "Sequence[ShownFile]", command: str) -> str:
    """Render the page of the files in a folder."""
    from matcheval.io.provenance import software_versions
    from matcheval.report.pages import PACKAGES, Provenance, digests, render_report
    from matcheval.report.sections import Section

    pair, titles = compared.pair, compared.titles
    data = {name: [str(folder / name / pair / f"{m}.parquet") for m in titles]
            for name in ("tables", "gaps")}  # fmt: skip
    data["means"] = [str(folder / "gaps" / f"{pair}.parquet")]
    data["calibration"] = [str(folder / "gaps" / pair / "calibration.parquet")]
    values = {
        "titles": titles, "places": [[pair, m] for m in titles], "margin": compared.margin,
        "confidence": LEVEL, "confident_errors": " ".join(["", *_worth_a_look(compared)[1:]]),
    }  # fmt: skip
    gaps = Section(
        "matching", "Gaps before and after matching", "matcheval.protocol", tuple(figures), data,
        values,
    )  # fmt: skip
    sections = [gaps, *(_section(table, pair, folder) for table in compared.analyses.values())]
    inputs = [file.path for of_model in compared.models.files for file in of_model.values()]
    provenance = Provenance(
        software_versions(*PACKAGES), command, [digests(inputs, "Prediction files")]
    )
    return render_report(compared.title, sections, provenance)


def _section(analysis: AnalysisTable, pair: str, folder: Path) -> "Section":
    from matcheval.report.sections import Section, ShownFile

    kind, name, title = analysis.kind, analysis.kind.name, analysis.kind.title()
    shown = [ShownFile((str(folder / name / f"{pair}.md"),), title)]
    if kind.has_figure:
        shown.append(ShownFile((str(folder / "figures" / name / f"{pair}.svg"),), title))
    return Section(name, title, kind.__module__.rpartition(".")[0], tuple(shown))
