"""Writing a comparison's tables and figures to a folder, laid out like a study's results."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file
from matcheval.io.tables import write_table
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.figures.confidence import plot_confidence
from matcheval.protocol.figures.gaps import plot_gaps
from matcheval.protocol.figures.matched_accuracy import plot_matched_accuracy
from matcheval.protocol.figures.reliability import plot_reliability
from matcheval.protocol.figures.subsets import reliability_data
from matcheval.protocol.gap_estimates import GapTables
from matcheval.protocol.gap_schemas import GAPS
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.schemas import MODEL_TABLE
from matcheval.protocol.summary import write_summary
from matcheval.protocol.suspicions import suspicions_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "png")


def write_comparison(
    comparison: Comparison,
    matched: Mapping[Criterion, MatchedComparison],
    tables: Mapping[Criterion, pd.DataFrame],
    gaps: GapTables,
    seeds: Sequence[int],
    folder: Path,
) -> Iterator[Path]:
    """Write the files that the workflow writes for a pair, for a single model.

    Parameters
    ----------
    comparison : Comparison
        The model, the pair and its predictions.
    matched : mapping of Criterion to MatchedComparison
        The same comparison, matched by each criterion.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, one row each.
    gaps : GapTables
        What the gaps consist of, by the names of the criteria.
    seeds : sequence of int
        Seeds of the runs.
    folder : Path
        Output folder, created if missing. It receives `matched/`, `pairs/`, `tables/`,
        `gaps/`, `figures/` and `summary.md`.

    Yields
    ------
    Path
        Every file, after it was written.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    pair, model = comparison.pair.name, comparison.model.replace("/", "_")
    first = next(iter(tables.values()))
    yield from _save(plot_confidence(first), folder / "figures" / pair / "confidence")
    for criterion, table in tables.items():
        epsilon = float(table["epsilon"].iloc[0])
        place = Path(pair, criterion.value)
        table_file = MODEL_TABLE.from_frame(table)
        gap_file = GAPS.from_frame(gaps.models[criterion.value])
        pairs = matched[criterion].pairs()
        for path, content in (
            (folder / "matched" / f"{place}.parquet", matched[criterion].runs()),
            (folder / "pairs" / place / f"{model}.parquet", pairs),
            (folder / "tables" / f"{place}.csv", table_file),
            (folder / "tables" / f"{place}.parquet", table_file),
            (folder / "gaps" / f"{place}.csv", gap_file),
            (folder / "gaps" / f"{place}.parquet", gap_file),
        ):
            write_table(content, path)
            yield path
        figures = folder / "figures" / place
        yield from _save(
            plot_matched_accuracy(table, gaps=gaps.models[criterion.value]),
            figures / "matched_accuracy",
        )
        (mean,) = (row for _, row in gaps.means.iterrows() if row["matching"] == criterion.value)
        figure = plot_gaps(table, gaps.models[criterion.value], mean, criterion.description)
        yield from _save(figure, figures / "gaps")
        data = reliability_data(comparison, pairs, criterion.description, epsilon, seeds)
        yield from _save(plot_reliability(data), figures / "reliability" / model)
    summary = folder / "summary.md"
    titles = {criterion.value: criterion.description for criterion in tables}
    suspicions = [(comparison.model, text) for text in suspicions_of(comparison)]
    page = write_summary(f"Model `{comparison.model}`", gaps.means, titles, suspicions)
    with atomic_file(summary) as partial:
        partial.write_text(page, encoding="utf-8")
    yield summary


def _save(figure: "Figure", stem: Path) -> Iterator[Path]:
    for suffix in FORMATS:
        path = stem.with_name(f"{stem.name}.{suffix}")
        save_figure(figure, path)
        yield path
