"""What a comparison of two sets shows: claims, and how strong they are.

Four questions are answered: whether accuracy differs, whether confidence on the new set is right on
average, how much of a difference lower confidence explains, and what remains at equal confidence.
Their sentences are in `verdict_text`; docs/protocol.md has the rules, and how often they err.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.names import ORIGINS
from matcheval.protocol.comparisons import suspicions_in
from matcheval.protocol.judgement import (
    COUNTED,
    QUESTIONS,
    Counts,
    Finding,
    Judgement,
    Limits,
    Question,
    models_beyond_chance,
)
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import MARGIN
from matcheval.protocol.verdict_text import VerdictText
from matcheval.statistics.claims import Strength
from matcheval.statistics.intervals import LEVEL

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Claim:
    """The answer to one question about a pair, and how strong it is.

    Attributes
    ----------
    question : str
        `accuracy`: does it differ? `calibration`: is mean confidence on the replication its
        accuracy? `confidence`: how much does a change of confidence explain? `left`: what remains
        at equal confidence?
    finding : str
        `loss` or `gain`, of calibration `overconfident` or `underconfident`; `small` (below the
        margin), `mixed` (models differ in sign) or `open`.
    text : str
        A sentence.
    value, low, high : float
        Estimate and its interval, fractions; NaN where there are none.
    strength : Strength
        `established`, `suggested` or `inconclusive`.
    reason : str
        Why it is no stronger; empty if it is established.
    """

    question: Question
    finding: Finding
    text: str
    value: float
    low: float
    high: float
    strength: Strength
    reason: str

    @property
    def told(self) -> str:
        """The sentence, followed by the reason in brackets, if there is one."""
        return f"{self.text.removesuffix('.')} ({self.reason})." if self.reason else self.text


@dataclass(frozen=True)
class CalibrationCounts:
    """Which of `n` models are over- or underconfident on the replication beyond chance."""

    overconfident: tuple[str, ...]
    underconfident: tuple[str, ...]
    n: int


@dataclass(frozen=True)
class Verdict:
    """What a comparison of a pair shows: four claims, and what to do next.

    Attributes
    ----------
    pair : str
    claims : tuple of Claim
        On `accuracy`, `calibration`, `confidence` and what is `left`.
    next_step : str
        What to do now, a sentence.
    models : Counts or None
        Of several models, those that lose and gain accuracy.
    calibration : CalibrationCounts or None
        Of several models, those that are miscalibrated on the replication.
    """

    pair: str
    claims: tuple[Claim, ...]
    next_step: str
    models: Counts | None = None
    calibration: CalibrationCounts | None = None

    def __str__(self) -> str:
        """Return a line per claim, with its strength and what that rests on."""
        lines = [f"{claim.strength}: {claim.told}" for claim in self.claims]
        return "\n".join([*lines, f"next: {self.next_step}"])


def verdicts(
    means: "Iterable[pd.Series]",
    models: "Mapping[tuple[str, str], pd.DataFrame]",
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
) -> list[Verdict]:
    """Return the verdict on each pair of a report, by its first matching.

    `means` are rows of `schemas.MEAN_GAPS`, `models` rows of `GAPS` with accuracies, by pair and
    matching. All pairs are judged together: 1 minus the level bounds the share of reports with a
    wrong established claim.
    """
    rows = dict[str, Any]()
    for row in means:
        rows.setdefault(row["pair"], row)
    tables = {name: models[name, row["matching"]] for name, row in rows.items()}
    several = {name: table for name, table in tables.items() if len(table) > 1}
    # Half of the errors that are allowed are for the counts of models, if there are several.
    joint = 1 - (1 - level) / (2 if several else 1)
    limits = Limits(margin, level, joint, len(QUESTIONS) * len(rows))
    counts = {question: models_beyond_chance(several, question, limits) for question in COUNTED}
    judged = []
    for name, row in rows.items():
        pair_counts = {question: by_pair.get(name) for question, by_pair in counts.items()}
        judged.append(_write_verdict(Judgement(row, tables[name], limits, pair_counts)))
    return judged


def _write_verdict(judgement: Judgement) -> Verdict:
    """Put the findings on a pair into words: claims, reasons and the next step."""
    text = VerdictText(judgement)
    claims = []
    for question in QUESTIONS:
        shown = judgement.evidence[question][0]
        claims.append(Claim(
            question, judgement.finding[question], text.claim(question), shown.value, shown.low,
            shown.high, judgement.strength[question], text.reason(question),
        ))  # fmt: skip
    models, counts = (judgement.counts.get(question) for question in ("accuracy", "calibration"))
    calibration = CalibrationCounts(counts.lost, counts.gained, counts.n) if counts else None
    pair, next_step = judgement.row["pair"], text.next_step()
    return Verdict(pair, tuple(claims), next_step, models, calibration)


def with_accuracies(gaps: "pd.DataFrame", results: "pd.DataFrame") -> "pd.DataFrame":
    """Add the models' accuracies of `MODEL_TABLE` to `schemas.GAPS`, with models as index."""
    names = [f"{name}_{origin}" for name in ("accuracy", "n") for origin in ORIGINS]
    return gaps.set_index("model").join(results.set_index("model")[names])


@dataclass(frozen=True)
class StudyVerdicts:
    """A study's tables of gaps, the verdicts on its pairs, and what looks wrong."""

    means: "pd.DataFrame"
    gaps: "Mapping[tuple[str, str], pd.DataFrame]"  # by pair and matching, with accuracies
    verdicts: list[Verdict]
    suspicions: list[tuple[str, str]]

    @classmethod
    def read(
        cls, data: Mapping[str, Sequence[str | Path]], places: Sequence[tuple[str, str]],
        margin: float, level: float,
    ) -> "StudyVerdicts":  # fmt: skip
        """Read a study's tables, and judge its pairs; `places` are pair and matching of each."""
        import pandas as pd

        means = pd.concat([MEAN_GAPS.read(p).to_pandas() for p in data["means"]], ignore_index=True)
        tables = [MODEL_TABLE.read(path) for path in data["tables"]]
        gaps = {
            (pair, name): with_accuracies(GAPS.read(path).to_pandas(), table.to_pandas())
            for (pair, name), path, table in zip(places, data["gaps"], tables, strict=True)
        }
        rows = (row for _, row in means.iterrows())
        judged = verdicts(rows, gaps, margin=margin, level=level)
        return cls(means, gaps, judged, suspicions_in(tables))
