"""The summary page of a study: accuracy gaps before and after matching, averaged over models."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from matcheval.protocol.criteria import Criterion
from matcheval.protocol.suspicions import MANY_UNMATCHED


@dataclass(frozen=True)
class GapSummary:
    """Gaps of one pair and matching, averaged over models; original minus replication.

    Attributes
    ----------
    pair, original, replication, source : str
        As in `schemas.MODEL_TABLE`.
    matching, title : str
        Name of the matching, and what readers call it.
    n_original, n_replication : int
        Number of datapoints in each set.
    epsilon : float
        Largest difference between matched probabilities.
    n_models, n_seeds : int
        Number of models, and of runs per model.
    n_undefined : int
        Number of models without a matched pair in any run; means of matched quantities leave
        them out.
    n_mostly_unmatched : int
        Number of models of whose targets more than half have no match.
    n_narrower : int
        Number of models whose matched gap is narrower: |mean matched gap| < |gap|.
    gap, matched_gap : float
        Means of |gap| and of |mean matched gap| over the models that have a matched gap. If none
        has, `gap` is the mean over all models and `matched_gap` is NaN.
    fraction_unmatched, unmatched_accuracy_target : float
        Means over models.
    largest_sem : float
        Largest standard error, over the seeds, of a model's matched gap.
    """

    pair: str
    matching: str
    title: str
    original: str
    replication: str
    source: str
    n_original: int
    n_replication: int
    epsilon: float
    n_models: int
    n_seeds: int
    n_undefined: int
    n_mostly_unmatched: int
    n_narrower: int
    gap: float
    matched_gap: float
    fraction_unmatched: float
    unmatched_accuracy_target: float
    largest_sem: float

    @property
    def relative_narrowing(self) -> float:
        """1 minus the ratio of the mean matched gap to the mean gap; NaN if the gap is 0."""
        return 1 - self.matched_gap / self.gap if self.gap else float("nan")


def summarize_gaps(table: pd.DataFrame, matching: str = "", title: str = "") -> GapSummary:
    """Average the gaps of one pair and matching over models.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, at least one row, one pair and matching.
    matching, title : str
        Name of the matching, and what readers call it; by default, those of its criterion.

    Returns
    -------
    GapSummary
    """
    first = table.iloc[0]
    defined = table[table["matched_gap_mean"].notna()]
    gap, matched_gap = defined["gap"].abs(), defined["matched_gap_mean"].abs()
    return GapSummary(
        **{name: str(first[name]) for name in ("pair", "original", "replication", "source")},
        matching=matching or str(first["criterion"]),
        title=title or Criterion(first["criterion"]).description,
        n_original=int(first["n_original"]),
        n_replication=int(first["n_replication"]),
        epsilon=float(first["epsilon"]),
        n_models=len(table),
        n_seeds=int(table["n_seeds"].min()),
        n_undefined=len(table) - len(defined),
        n_mostly_unmatched=int((table["fraction_unmatched_mean"] > MANY_UNMATCHED).sum()),
        n_narrower=int((matched_gap < gap).sum()),
        gap=float((gap if len(gap) else table["gap"].abs()).mean()),
        matched_gap=float(matched_gap.mean()),
        fraction_unmatched=float(table["fraction_unmatched_mean"].mean()),
        unmatched_accuracy_target=float(table["unmatched_accuracy_target_mean"].mean()),
        largest_sem=float(table["matched_gap_sem"].max()),
    )


def write_summary(
    title: str, summaries: Sequence[GapSummary], suspicions: Sequence[tuple[str, str]] = ()
) -> str:
    """Write the summary page as Markdown: one statement and table row per pair and matching.

    Parameters
    ----------
    title : str
        What the summary is about, such as a study's name; the start of the heading.
    summaries : sequence of GapSummary
        In the order in which they appear on the page.
    suspicions : sequence of (str, str)
        Models, and what looks wrong about their predictions.

    Returns
    -------
    str
        The text of the page, which states measured quantities only.
    """
    lines = [
        f"# {title}: accuracy gaps before and after matching",
        "",
        "Matched evaluation protocol (Anzaku et al. 2022, arXiv 2209.01848). A gap is the accuracy "
        "on the original set minus the accuracy on its replication, in percentage points; gaps "
        "given here are means over models of the absolute gap. The gap before matching is that of "
        "the whole sets. The gap after matching is that of the matched subsets, in which paired "
        "datapoints have confidences that differ by at most ε (and, under criterion 1, the same "
        "predicted label). Standard errors (SEM) are over the seeds of the matching and do not "
        "include the sampling error of the test sets.",
        "",
        *(f"- {_statement(summary)}" for summary in summaries),
        "",
        "| pair | matching | n original | n replication | models | seeds | ε | gap before "
        "| gap after | narrower by | models narrower | unmatched targets | accuracy on unmatched "
        "| largest SEM of gap after |",
        f"| --- | --- |{' --: |' * 12}",
        *(_row(summary) for summary in summaries),
        "",
        *_warnings(summaries, suspicions),
    ]
    return "\n".join(lines)


def _warnings(summaries: Sequence[GapSummary], suspicions: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of a section on what to look at before results are used; none if there is nothing."""
    unmatched = [
        f"- {s.pair}, {s.title}: more than half of the targets of {s.n_mostly_unmatched} of "
        f"{s.n_models} model{'s' * (s.n_models > 1)} are unmatched, so that matched accuracies are "
        "those of a minority."
        for s in summaries
        if s.n_mostly_unmatched
    ]
    found = [f"- {model}, {text}{'' if text.endswith('?') else '.'}" for model, text in suspicions]
    return ["## Warnings", "", *found, *unmatched, ""] if found or unmatched else []


def _statement(s: GapSummary) -> str:
    sets = (
        f"`{s.original}` (n = {s.n_original:,}) and `{s.replication}` (n = {s.n_replication:,}), "
        f"source `{s.source}`"
    )
    where = f"**{s.pair}**, {s.title}, {sets}"
    compared = s.n_models - s.n_undefined
    if not compared:
        return (
            f"{where}: no target was matched in any run of {s.n_models} "
            f"model{'s' * (s.n_models > 1)}; the gap before matching is {_points(s.gap)} points."
        )
    undefined = (
        f" For {s.n_undefined} of {s.n_models} models, no target was matched in any run; they are "
        "left out of the gaps."
        if s.n_undefined
        else ""
    )
    return (
        f"{where}: over {compared} model{'s' * (compared > 1)}, the gap is {_points(s.gap)} points "
        f"before and {_points(s.matched_gap)} points after matching; it is narrower after matching "
        f"for {s.n_narrower} of {compared}. Unmatched targets: "
        f"{_percent(s.fraction_unmatched)}.{undefined}"
    )


def _row(s: GapSummary) -> str:
    cells = [
        s.pair,
        s.matching,
        f"{s.n_original:,}",
        f"{s.n_replication:,}",
        f"{s.n_models - s.n_undefined} of {s.n_models}" if s.n_undefined else f"{s.n_models}",
        f"{s.n_seeds}",
        f"{s.epsilon:g}",
        _points(s.gap),
        _points(s.matched_gap),
        _percent(s.relative_narrowing),
        f"{s.n_narrower}",
        _percent(s.fraction_unmatched),
        _percent(s.unmatched_accuracy_target),
        _points(s.largest_sem),
    ]
    return f"| {' | '.join(cells)} |"


def _points(fraction: float) -> str:
    """Format a difference of accuracies in percentage points."""
    return "undefined" if pd.isna(fraction) else f"{100 * fraction:.2f}"


def _percent(fraction: float) -> str:
    return "undefined" if pd.isna(fraction) else f"{100 * fraction:.1f} %"
