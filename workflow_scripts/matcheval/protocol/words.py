"""What can be said of a gap, in words: sentences that hold for the numbers they are given.

Rows are those of `schemas.MEAN_GAPS` or `GAPS`. Numbers are in percentage points, shares and
narrowings in percent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from matcheval.io.text_tables import TextColumn, counted, markdown, signed, supported_digits
from matcheval.protocol.settings import matching_label
from matcheval.statistics.intervals import LEVEL, at_level

if TYPE_CHECKING:
    from matcheval.protocol.verdicts import Verdict

UNDEFINED = "undefined"


def points(value: float) -> str:
    """Format a difference of accuracies in percentage points."""
    return UNDEFINED if pd.isna(value) else signed(100 * value, 2)


def percent(value: float, digits: int = 0) -> str:
    """Format a fraction as a percentage, such as `67 %`."""
    return UNDEFINED if pd.isna(value) else f"{signed(100 * value, digits)} %"


def with_interval(row: pd.Series, name: str) -> str:
    """Format the quantity `name` of a row in percentage points, with its interval if it has one."""
    value, low, high = (100 * row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value) or pd.isna(low) or pd.isna(high):
        return points(row[name])
    digits = supported_digits(low, high)
    return f"{signed(value, digits)} [{signed(low, digits)}, {signed(high, digits)}]"


def share_of_confidence(row: pd.Series) -> str:
    """Format the share of a gap that confidence explains, with its interval."""
    if pd.isna(row["confidence_share"]):
        return UNDEFINED
    low, high = (signed(100 * row[f"confidence_share_{end}"], 0) for end in ("low", "high"))
    return f"{percent(row['confidence_share'])} [{low}, {high}]"


def compare_matched_gap(row: pd.Series) -> str:
    """Say how much smaller a matched gap is than the gap, and would be by the reference."""
    if abs(row["gap"]) < 2 * row["gap_se"]:
        return "no share is given, as the gap is below twice its standard error"
    smaller = _smaller_or_larger(row["narrowing"])
    if pd.isna(row["reference_narrowing"]):
        return f"{smaller} than the gap; there is no reference to compare that with"
    sizes = f"{row['n_reference_original']:,} and {row['n_reference_replication']:,} datapoints"
    text = (
        f"{smaller} than the gap. In samples of {sizes}, it is "
        f"{_smaller_or_larger(row['same_size_narrowing'])}; if confidence explained nothing, it "
        f"would be {_smaller_or_larger(row['reference_narrowing'])}"
    )
    spread = _format_spread(row)
    if not spread:
        return text
    return f"{text} (standard deviation of the difference over samples: {spread} points)"


def _format_spread(row: pd.Series) -> str:
    """Format the standard deviation of the excess over splits, in points; empty if unknown."""
    return "" if pd.isna(row["excess_spread"]) else signed(100 * row["excess_spread"], 0)


def _smaller_or_larger(share: float) -> str:
    return f"{percent(-share)} larger" if share < 0 else f"{percent(share)} smaller"


_INTRODUCTION = (
    "Matched evaluation protocol (Anzaku et al. 2022, arXiv 2209.01848). A gap is the accuracy on "
    "the original set minus the accuracy on its replication, in percentage points, here a mean "
    "over models. The matched gap is the same on pairs of datapoints whose confidences differ by "
    "at most ε (and, under criterion 1, with the same predicted label). Brackets are {level} "
    "intervals for the sampling of the test sets; what the random choices of the matching add is "
    "in `tables/`."
)
_READING = (
    "How to read them: matching makes a gap smaller even if confidence explains nothing of it. The "
    "no-warning reference says by how much, if all error rates rise by one factor; only a "
    "difference from it is a finding. The two parts of the gap use no matching. A shift of "
    "confidence alone also leaves a matched gap: tenths of a point, or a few points where "
    "confidence is far above accuracy (docs/protocol.md)."
)


def summary_page(
    title: str,
    means: pd.DataFrame,
    titles: Mapping[str, str],
    judged: "Sequence[Verdict]",
    suspicions: Sequence[tuple[str, str]] = (),
    level: float = LEVEL,
) -> str:
    """Return the summary page in Markdown: verdicts, statements and tables of mean gaps."""
    rows = [row for _, row in means.iterrows()]
    warnings = [*suspicion_sentences(suspicions), *unmatched_notes(rows, titles)]
    lines = [f"# {title}: accuracy gaps before and after matching", ""]
    for verdict in judged:
        first = next(row for row in rows if row["pair"] == verdict.pair)
        claims = (f"- *{claim.strength}*: {claim.told}" for claim in verdict.claims)
        lines += [f"**{verdict.pair}**: {subject_of(first)}", ""]
        lines += [*claims, "", f"Next: {verdict.next_step}", ""]
    lines += [
        at_level(_INTRODUCTION, level),
        "",
        *(f"- {row['pair']}, {titles[row['matching']]}: {describe_gap(row)}" for row in rows),
        "",
        _READING,
        "",
        *(
            markdown([
                TextColumn(head, [cell(row) for row in rows], is_number=head not in _FIRST)
                for head, cell in columns.items()
            ])
            for columns in (_GAPS, _PARTS)
        ),
        *(["## Warnings", "", *(f"- {text}" for text in warnings), ""] if warnings else []),
    ]  # fmt: skip
    return "\n".join(lines)


def subject_of(row: pd.Series) -> str:
    """Say what a row of mean gaps is about: sets with sizes, number of models, and groups."""
    sets = (f"{row[o]} ({o}, {row[f'n_{o}']:,} images)" for o in ("original", "replication"))
    models = counted(row["n_models"] + row["n_left_out"], "model")
    n_groups = row["n_groups"]
    groups = f", at least {n_groups} groups in each set" if n_groups else ""
    return f"{' → '.join(sets)}, {models}{groups}"


def suspicion_sentences(suspicions: Iterable[tuple[str, str]]) -> list[str]:
    """Make a sentence of each model's name and what looks wrong about its predictions."""
    return [f"{model}, {text}{'' if text.endswith('?') else '.'}" for model, text in suspicions]


def unmatched_notes(rows: Sequence[pd.Series], titles: Mapping[str, str]) -> list[str]:
    """Return a sentence for each row in which models leave most of their targets unmatched."""
    return [
        f"{row['pair']}, {titles[row['matching']]}: more than half of the targets of "
        f"{row['n_mostly_unmatched']} of {counted(n, 'model')} are unmatched, so that matched "
        "accuracies are those of a minority."
        for row in rows
        if row["n_mostly_unmatched"] and (n := row["n_models"] + row["n_left_out"])
    ]


def describe_gap(row: pd.Series) -> str:
    """Describe a row of mean gaps: what remains on matched pairs, the parts, and remarks."""
    left_out = row["n_left_out"]
    if not row["n_models"]:
        return f"No target was matched in any run of {counted(left_out, 'model')}."
    share = share_of_confidence(row)
    sentences = [
        f"The gap is {with_interval(row, 'gap')} points. On matched pairs, "
        f"{with_interval(row, 'matched_gap')} remain: {compare_matched_gap(row)}",
        f"Confidence explains {with_interval(row, 'confidence_part')} points"
        + f" (a share of {share})" * (share != UNDEFINED)
        + f"; {with_interval(row, 'conditional_part')} remain at equal confidence",
        f"Unmatched targets: {percent(row['fraction_unmatched'], 1)}",
    ]
    if left_out:
        sentences.append(
            f"For {left_out} of {row['n_models'] + left_out} models, no target was matched in any "
            "run: matched gaps are of the others, gap and parts of all"
        )
    if row["remarks"]:
        sentences.append(f"Remarks: {row['remarks']}")
    return ". ".join(sentences) + "."


def _format_share(row: pd.Series, name: str) -> str:
    """Format a share of a gap; undefined if the gap is below twice its standard error."""
    return UNDEFINED if abs(row["gap"]) < 2 * row["gap_se"] else percent(row[name])


def _format_excess(row: pd.Series) -> str:
    """Format the narrowing beyond the no-warning reference, with its spread over splits."""
    excess = _format_share(row, "excess_narrowing").removesuffix(" %")
    spread = "" if excess == UNDEFINED else _format_spread(row)
    return f"{excess} ± {spread}" if spread else excess


Cell = Callable[[pd.Series], str]
_FIRST: dict[str, Cell] = {
    "pair": lambda row: row["pair"],
    "matching": lambda row: matching_label(row["matching"]),
}
_GAPS: dict[str, Cell] = _FIRST | {
    "n original": lambda row: f"{row['n_original']:,}",
    "n replication": lambda row: f"{row['n_replication']:,}",
    "models": lambda row: (
        f"{row['n_models']} of {row['n_models'] + row['n_left_out']}"
        if row["n_left_out"]
        else f"{row['n_models']}"
    ),
    "seeds": lambda row: f"{row['n_seeds']}",
    "ε": lambda row: f"{row['epsilon']:g}",
    "gap": lambda row: with_interval(row, "gap"),
    "matched gap": lambda row: with_interval(row, "matched_gap"),
    "its standard error": lambda row: points(row["matched_gap_se"]),
    "reduction": lambda row: _format_share(row, "narrowing"),
    "models reduced": lambda row: f"{row['n_narrower']}",
    "unmatched targets": lambda row: percent(row["fraction_unmatched"], 1),
    "accuracy on unmatched": lambda row: percent(row["unmatched_accuracy_target"], 1),
}
_PARTS: dict[str, Cell] = _FIRST | {
    "source selection": lambda row: points(row["source_selection"]),
    "dropped targets": lambda row: points(row["dropped_targets"]),
    "explained by confidence": lambda row: with_interval(row, "confidence_part"),
    "remaining at equal confidence": lambda row: with_interval(row, "conditional_part"),
    "share explained (%)": lambda row: share_of_confidence(row).replace(" %", ""),
    "reduction, in samples": lambda row: _format_share(row, "same_size_narrowing"),
    "no-warning reference": lambda row: _format_share(row, "reference_narrowing"),
    "excess (points ± SD over samples)": _format_excess,
    "models with reference": lambda row: f"{row['n_reference']}",
}
