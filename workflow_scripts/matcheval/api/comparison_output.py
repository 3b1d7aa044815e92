"""A comparison as text for a terminal, and as a folder of report, tables and figures."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from matcheval.api.comparison import AnalysisTable, Compared
from matcheval.errors import InputError
from matcheval.figures.saving import save_figure
from matcheval.figures.style import shortened
from matcheval.io.files import atomic_file, check_place
from matcheval.io.provenance import software_versions
from matcheval.io.tables import write_table
from matcheval.io.text_tables import counted
from matcheval.protocol.comparisons import Comparison, with_suspicions
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import Criterion
from matcheval.protocol.tables import join_runs
from matcheval.protocol.words import (
    narrowing,
    percent,
    points,
    share_of_confidence,
    verdict,
    with_interval,
    write_summary,
)
from matcheval.report.pages import PACKAGES, Provenance, digests, render_report
from matcheval.report.sections import Section, ShownFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 100
_MAX_SHOWN = 10  # models that are all shown
_N_FIRST = 5  # of more
_NAME_WIDTH = 30
FORMATS = ("pdf", "png", "svg")
LIST = "files.json"  # what a comparison wrote into its folder
_WRITER = "matched-eval compare"


def describe(compared: Compared, where: str) -> str:
    """Format a comparison as text: of one model all numbers, of many an overview.

    `where` says where the numbers of all models are.
    """
    is_one = len(compared.known.comparisons) == 1
    lines = _of_one(compared) if is_one else _of_many(compared, where)
    return "\n".join([compared.title, *lines, ""]) + "".join(
        one.describe(where) for one in compared.analyses.values()
    )


def _of_one(compared: Compared) -> list[str]:
    """Return accuracies in percent and gaps in percentage points, and what follows from them."""
    (comparison,), rows, notes = compared.known.comparisons, list[tuple[str, ...]](), list[str]()
    for criterion, table in compared.tables.items():
        row = table.iloc[0]
        rows += [] if rows else _plain_rows(comparison, row)
        rows += _matched_rows(comparison, criterion, row)
        notes += _notes(compared, criterion)
        if pd.isna(row.matched_gap_mean):
            notes.append(
                f"No target was matched by {criterion.description}: the matched accuracy is "
                "undefined."
            )
    first = compared.gaps.means.iloc[0]
    spread = ", ± standard deviation over them" if first["n_seeds"] > 1 else ""
    footer = (
        f"ε = {first['epsilon']:g}, {counted(first['n_seeds'], 'seed')}{spread}; gaps in "
        "percentage points\n"
        "The standard deviation is of the random choices of the matching, not of the sampling of "
        "the sets.\nBrackets: 95 % intervals for the sampling of the sets"
        f"{_design(first)}."
    )
    return ["", *_aligned(rows), "", footer, "", *_parts(first), *notes]


def _notes(compared: Compared, criterion: Criterion) -> list[str]:
    """Say what follows from a matched gap, a sentence per line."""
    means = compared.gaps.means
    gap = means[means["matching"] == criterion.value].iloc[0]
    if pd.isna(gap["matched_gap"]):
        return []
    lines = [
        f"matched gap: {with_interval(gap, 'matched_gap')}, {verdict(gap)}",
        narrowing(gap),
        f"gap in terms of the matching: matched gap {points(gap['matched_gap'])}, source "
        f"selection {points(gap['source_selection'])}, dropped targets "
        f"{points(gap['dropped_targets'])}",
        gap["remarks"],
    ]
    return ["", f"{criterion.description}:", *(_wrapped(line, "  ") for line in lines if line)]


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _parts(gap: pd.Series) -> list[str]:
    """Say what of the gap goes with confidence, which no matching is needed for."""
    share = share_of_confidence(gap)
    return [
        _wrapped(
            f"gap {with_interval(gap, 'gap')}: of it, {with_interval(gap, 'confidence_part')} goes "
            f"with confidence, {with_interval(gap, 'conditional_part')} does not"
            + (f" (share with confidence {share})" if "[" in share else "")
        )
    ]


def _design(gap: pd.Series) -> str:
    """Say what intervals take to be independent, if that is not each datapoint."""
    if gap["n_groups"]:
        return f", by groups (at least {gap['n_groups']} in a set)"
    return ", by image: the sets are paired" if gap["paired"] else ""


def _plain_rows(comparison: Comparison, row: pd.Series) -> list[tuple[str, ...]]:
    """Build the header and the rows that do not depend on the matching."""
    accuracies = row.accuracy_original, row.accuracy_replication
    old, new = confidences = row.confidence_original, row.confidence_replication
    roles = ("source", "target") if comparison.source_is_original else ("target", "source")
    return [
        ("", comparison.pair.original, comparison.pair.replication, "gap"),
        ("role", *roles, ""),
        ("datapoints", f"{row.n_original:,}", f"{row.n_replication:,}", ""),
        ("accuracy", *(_hundredfold(one, unit=" %") for one in accuracies), _hundredfold(row.gap)),
        (
            "mean confidence",
            *(_hundredfold(one, unit=" %") for one in confidences),
            _hundredfold(old - new),
        ),
    ]


def _matched_rows(
    comparison: Comparison, criterion: Criterion, row: pd.Series
) -> list[tuple[str, ...]]:
    """Build the title and the rows of a criterion."""

    def cell(name: str) -> str:
        return _hundredfold(row[f"{name}_mean"], row[f"{name}_std"], " %")

    n_target = row.n_replication if comparison.source_is_original else row.n_original
    n_matched = n_target * (1 - row.fraction_unmatched_mean)

    def of_target(name: str) -> tuple[str, str]:
        return ("", cell(name)) if comparison.source_is_original else (cell(name), "")

    return [
        ("", "", "", ""),
        (criterion.description, "", "", ""),
        (
            "matched accuracy",
            cell("matched_accuracy_original"),
            cell("matched_accuracy_replication"),
            _hundredfold(row.matched_gap_mean, row.matched_gap_std),
        ),
        ("matched pairs", "", f"{n_matched:,.0f}", ""),
        ("unmatched targets", *of_target("fraction_unmatched"), ""),
        ("accuracy on unmatched", *of_target("unmatched_accuracy_target"), ""),
    ]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Align texts and numbers; a row with a title only does not widen the first column."""
    columns = zip(*(row for row in rows if any(row[1:])), strict=True)
    first, *widths = (max(map(len, cells)) for cells in columns)
    return [
        "  ".join([name.ljust(first), *map(str.rjust, numbers, widths)]).rstrip()
        for name, *numbers in rows
    ]


def _hundredfold(mean: float, deviation: float | None = None, unit: str = "") -> str:
    """Return percent, or percentage points, with the standard deviation if there is one."""
    if pd.isna(mean):
        return "undefined"
    spread = "" if deviation is None or pd.isna(deviation) else f" ± {100 * deviation:.2f}"
    return f"{100 * mean:.2f}{spread}{unit}"


def _of_many(compared: Compared, where: str) -> list[str]:
    """Return mean and range over models, and the rows of the most accurate ones."""
    row = compared.gaps.means.iloc[0]
    lines = [
        f"{row['n_original']:,} and {row['n_replication']:,} datapoints, source {row['source']}; "
        f"ε = {row['epsilon']:g}, {counted(row['n_seeds'], 'seed')}; gaps in percentage points",
        "",
        *_aligned(_overview(compared)),
        "",
        f"Brackets: 95 % intervals for the sampling of the sets{_design(row)}.",
        "",
        *_parts(row),
    ]
    for criterion in compared.tables:
        lines += _notes(compared, criterion)
    n = len(compared.known.comparisons)
    n_shown = n if n <= _MAX_SHOWN else _N_FIRST
    lines += ["", *_aligned(_first_models(compared, n_shown))]
    if n > n_shown:
        lines.append(f"... and {n - n_shown} more models, less accurate on the original: {where}")
    return lines


def _short(title: str) -> str:
    """Return what comes before the parentheses: `criterion 1`."""
    return title.partition(" (")[0]


def _overview(compared: Compared) -> list[tuple[str, ...]]:
    """Build rows of mean, lowest and highest value over the models."""
    accuracies = next(iter(compared.tables.values()))
    rows: list[tuple[str, ...]] = [("", "mean", "lowest", "highest", "narrower for")]
    for origin in ("original", "replication"):
        values = accuracies[f"accuracy_{origin}"]
        of_values = values.mean(), values.min(), values.max()
        rows.append((f"accuracy, {origin}", *(percent(value, 2) for value in of_values), ""))
    for _, mean in compared.gaps.means.iterrows():
        models = compared.gaps.models[mean["matching"]]
        if len(rows) == 3:
            rows.append(("gap", with_interval(mean, "gap"), *_range(models["gap"]), ""))
        name = f"matched gap, {_short(compared.titles[mean['matching']])}"
        narrower = f"{mean['n_narrower']} of {mean['n_models']}"
        bounds = _range(models["matched_gap"])
        rows.append((name, with_interval(mean, "matched_gap"), *bounds, narrower))
    return rows


def _range(values: "pd.Series[float]") -> tuple[str, str]:
    return points(values.min()), points(values.max())


def _first_models(compared: Compared, n: int) -> list[tuple[str, ...]]:
    """Build a row per model, of the first by accuracy on the original."""
    matched = {
        _short(compared.titles[name]): table.set_index("model")["matched_gap"]
        for name, table in compared.gaps.models.items()
    }
    table = next(iter(compared.tables.values())).sort_values(
        ["accuracy_original", "model"], ascending=[False, True]
    )
    heads = (f"matched, {title}" for title in matched)
    rows: list[tuple[str, ...]] = [("model", "original", "replication", "gap", *heads)]
    for _, row in table.head(n).iterrows():
        rows.append(
            (
                shortened(row["model"], _NAME_WIDTH),
                percent(row["accuracy_original"], 2),
                percent(row["accuracy_replication"], 2),
                points(row["gap"]),
                *(points(gaps[row["model"]]) for gaps in matched.values()),
            )
        )
    return rows


def check_folder(folder: Path) -> None:
    """Check that a folder can be written, and holds nothing but an earlier comparison."""
    check_place(folder / LIST)
    if any(folder.iterdir()) and _earlier(folder) is None:
        raise InputError(
            "holds files that no comparison wrote",
            file=folder,
            remedy="Name an empty or a new folder with --output",
        )


def write_comparison(compared: Compared, folder: Path, command: str) -> Iterator[Path]:
    """Write what the workflow writes for a pair, in place of an earlier comparison's files.

    The folder is as `check_folder` wants it; each file is yielded once it is written. `command` is
    what was asked for, for the report.
    """
    _remove_earlier(folder)
    written: list[str] = []
    for path in _write_all(compared, folder, command):
        written.append(path.relative_to(folder).as_posix())
        with atomic_file(folder / LIST) as partial:  # after each, for a run that is killed
            text = json.dumps({"written_by": _WRITER, "files": written}, indent=1)
            partial.write_text(text, encoding="utf-8")
        yield path


def _earlier(folder: Path) -> list[str] | None:
    """Return the names of the files that an earlier comparison wrote; None if there was none."""
    try:
        known = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("written_by") != _WRITER:
        return None
    return [name for name in known.get("files", []) if isinstance(name, str)]


def _remove_earlier(folder: Path) -> None:
    """Delete the files that an earlier comparison listed, and folders that become empty."""
    for name in _earlier(folder) or []:
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.unlink(missing_ok=True)
            for parent in path.parents:
                if parent == folder or not parent.is_dir() or any(parent.iterdir()):
                    break
                parent.rmdir()


def _write_all(compared: Compared, folder: Path, command: str) -> Iterator[Path]:
    figures: list[ShownFile] = []
    for stem, title, figure in _figures(compared):
        paths = [folder / "figures" / f"{stem}.{suffix}" for suffix in FORMATS]
        save_figure(figure, *paths)
        yield from paths
        figures.append(ShownFile(tuple(map(str, paths)), title))
    for path, table in _tables(compared):
        write_table(table, folder / path)
        yield folder / path
    for result in compared.analyses.values():
        yield from result.write(compared.pair, folder)
    summary = write_summary(
        compared.title, compared.gaps.means, compared.titles, compared.suspicions
    )
    for name, text in (
        ("summary.md", summary), ("report.html", _report(compared, folder, figures, command))
    ):  # fmt: skip
        with atomic_file(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        yield folder / name


def _tables(compared: Compared) -> Iterator[tuple[str, pa.Table]]:
    """Return tables with their paths, without those of the analyses."""
    pair, comparisons = compared.pair, compared.known.comparisons
    for suffix in ("csv", "parquet"):
        yield f"gaps/{pair}.{suffix}", MEAN_GAPS.from_frame(compared.gaps.means)
    for criterion, table in compared.tables.items():
        place, matched = f"{pair}/{criterion.value}", compared.matched[criterion]
        yield f"matched/{place}.parquet", join_runs([one.runs() for one in matched])
        if len(matched) == 1:
            yield f"pairs/{place}/{_file_name(comparisons[0].model)}.parquet", matched[0].pairs()
        for suffix in ("csv", "parquet"):
            models = with_suspicions(MODEL_TABLE.from_frame(table), compared.suspicions)
            yield f"tables/{place}.{suffix}", models
            gaps = GAPS.from_frame(compared.gaps.models[criterion.value])
            yield f"gaps/{place}.{suffix}", gaps


def _figures(compared: Compared) -> "Iterator[tuple[str, str, Figure]]":
    """Return figures with their paths below `figures/`, without suffix, and titles."""
    pair, known = compared.pair, compared.known
    yield f"{pair}/confidence", "Accuracy and confidence", compared.figure("confidence")
    for criterion in compared.tables:
        place, title = f"{pair}/{criterion.value}", criterion.description
        figure = compared.figure("matched_accuracy", criterion)
        yield f"{place}/matched_accuracy", f"Matched accuracy, {title}", figure
        yield f"{place}/gaps", f"Gaps, {title}", compared.figure("gaps", criterion)
        if len(known.comparisons) == 1:
            name = _file_name(known.comparisons[0].model)
            figure = compared.figure("reliability", criterion)
            yield f"{place}/reliability/{name}", f"Reliability, {title}", figure


def _file_name(model: str) -> str:
    return model.replace("/", "_")


def _report(compared: Compared, folder: Path, figures: Sequence[ShownFile], command: str) -> str:
    """Render the page of the files in a folder."""
    pair, titles = compared.pair, compared.titles
    data = {
        "means": [str(folder / "gaps" / f"{pair}.parquet")],
        "tables": [str(folder / "tables" / pair / f"{m}.parquet") for m in titles],
        "gaps": [str(folder / "gaps" / pair / f"{m}.parquet") for m in titles],
    }
    values = {"titles": titles, "places": [[pair, m] for m in titles]}
    gaps = Section(
        "matching", "Gaps before and after matching", "matcheval.protocol", tuple(figures), data,
        values,
    )  # fmt: skip
    sections = [gaps, *(_section(one, pair, folder) for one in compared.analyses.values())]
    inputs = [file.path for of_model in compared.known.files for file in of_model.values()]
    provenance = Provenance(
        software_versions(*PACKAGES), command, [digests(inputs, "Prediction files")]
    )
    return render_report(compared.title, sections, provenance)


def _section(result: AnalysisTable, pair: str, folder: Path) -> Section:
    kind = result.kind
    title = kind.title()
    shown = [ShownFile((str(folder / kind.name / f"{pair}.md"),), title)]
    if kind.has_figure:
        stem = folder / "figures" / kind.name / pair
        shown.append(ShownFile(tuple(f"{stem}{suffix}" for suffix in (".svg", ".png")), title))
    return Section(kind.name, title, kind.__module__.rpartition(".")[0], tuple(shown))
