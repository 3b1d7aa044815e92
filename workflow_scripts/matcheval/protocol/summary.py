"""What a study found, on one page: how much narrower the matched gap is than the plain one."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from matcheval.protocol.criteria import Criterion


@dataclass(frozen=True)
class GapSummary:
    """One pair and criterion over its models; gaps are original minus replication.

    Attributes
    ----------
    pair, criterion, original, replication, source : str
        As in `schemas.MODEL_TABLE`.
    epsilon : float
        Largest difference of matched probabilities.
    n_models, n_seeds : int
        Models, and runs of each.
    n_undefined : int
        Models with no matched point in any run; the matched figures leave them out.
    n_narrower : int
        Models whose matched gap is narrower: |mean matched gap| < |gap|.
    gap, matched_gap : float
        Mean over the models of |gap| and of |mean matched gap|, both of the models that have a
        matched gap; if none has, `gap` is of all models.
    fraction_unmatched, unmatched_accuracy_target : float
        Means over models.
    largest_sem : float
        Largest standard error of a model's matched gap over the seeds.
    """

    pair: str
    criterion: str
    original: str
    replication: str
    source: str
    epsilon: float
    n_models: int
    n_seeds: int
    n_undefined: int
    n_narrower: int
    gap: float
    matched_gap: float
    fraction_unmatched: float
    unmatched_accuracy_target: float
    largest_sem: float

    @property
    def relative_narrowing(self) -> float:
        """By which fraction the mean matched gap is narrower; negative if wider."""
        return 1 - self.matched_gap / self.gap if self.gap else float("nan")


def summarize_gaps(table: pd.DataFrame) -> GapSummary:
    """Summarize a table of schema `schemas.MODEL_TABLE`: one pair and criterion."""
    first = table.iloc[0]
    defined = table[table["matched_gap_mean"].notna()]
    gap, matched_gap = defined["gap"].abs(), defined["matched_gap_mean"].abs()
    return GapSummary(
        **{name: str(first[name]) for name in ("pair", "criterion", "original", "replication")},
        source=str(first["source"]),
        epsilon=float(first["epsilon"]),
        n_models=len(table),
        n_seeds=int(table["n_seeds"].min()),
        n_undefined=len(table) - len(defined),
        n_narrower=int((matched_gap < gap).sum()),
        gap=float((gap if len(gap) else table["gap"].abs()).mean()),
        matched_gap=float(matched_gap.mean()),
        fraction_unmatched=float(table["fraction_unmatched_mean"].mean()),
        unmatched_accuracy_target=float(table["unmatched_accuracy_target_mean"].mean()),
        largest_sem=float(table["matched_gap_sem"].max()),
    )


def write_summary(title: str, summaries: Sequence[GapSummary]) -> str:
    """Write the page as Markdown: a statement and a table row per pair and criterion."""
    lines = [
        f"# {title}: accuracy gaps before and after matching",
        "",
        "Matched evaluation protocol (Anzaku et al. 2022, arXiv 2209.01848). A gap is accuracy on "
        "the original set minus accuracy on its replication, in percentage points; figures are "
        "means over models of the gap's size. A matched gap compares subsets on which the model "
        "reports the same confidence (under criterion 1, for the same predicted label). Standard "
        "errors (SEM) are over the seeds of the matching; the sampling error of the test sets "
        "comes on top.",
        "",
        *(f"- {_statement(summary)}" for summary in summaries),
        "",
        "| pair | criterion | models | seeds | ε | gap | matched gap | narrower by | models "
        "narrower | unmatched targets | accuracy on unmatched | largest SEM of a matched gap |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
        *(_row(summary) for summary in summaries),
        "",
    ]
    return "\n".join(lines)


def _statement(s: GapSummary) -> str:
    compared = s.n_models - s.n_undefined
    undefined = (
        f" For {s.n_undefined} of the {s.n_models} models no target was matched in any run: "
        "their matched gap is undefined and left out."
        if s.n_undefined
        else ""
    )
    roles = f"(`{s.original}` against `{s.replication}`, source `{s.source}`)"
    where = f"**{s.pair}**, {Criterion(s.criterion).description} {roles}"
    if not compared:
        return f"{where}: nothing matched; the plain gap is {_points(s.gap)} points.{undefined}"
    return (
        f"{where}: over {compared} model{'s' * (compared > 1)} the matched gap is {_change(s)} "
        f"the plain gap, {_points(s.matched_gap)} against {_points(s.gap)} points, and narrower "
        f"for {s.n_narrower} of {compared}.{undefined}"
    )


def _change(s: GapSummary) -> str:
    if s.matched_gap == s.gap:
        return "as wide as"
    if not s.gap:
        return "wider than"
    direction = "narrower" if s.matched_gap < s.gap else "wider"
    return f"{_percent(abs(s.relative_narrowing))} {direction} than"


def _row(s: GapSummary) -> str:
    cells = [
        s.pair,
        s.criterion,
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
    """A difference of accuracies in percentage points."""
    return "undefined" if pd.isna(fraction) else f"{100 * fraction:.2f}"


def _percent(fraction: float) -> str:
    return "undefined" if pd.isna(fraction) else f"{100 * fraction:.1f} %"
