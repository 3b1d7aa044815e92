"""The part of a report on gaps: a verdict per pair, its models, and what each gap consists of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.io.text_tables import TextColumn, level_text, signed
from matcheval.names import ORIGINS
from matcheval.protocol import words
from matcheval.protocol.schemas import CALIBRATION
from matcheval.protocol.settings import matching_label
from matcheval.protocol.verdicts import Claim, StudyVerdicts, Verdict
from matcheval.protocol.words import percent, with_interval
from matcheval.report.pages import HtmlTable
from matcheval.report.sections import (
    Chart,
    Content,
    Headline,
    Line,
    Point,
    Sentence,
    Series,
    bounds_in_percent,
)

_QUANTITIES = {"gap": "gap", "matched_gap": "matched gap"}
_ROWS = {
    "gap": "loss of accuracy",
    "confidence_part": "… explained by lower confidence",
    "conditional_part": "… remaining at equal confidence, by bins",
    "matched_gap": "… remaining at equal confidence, by pairs",
}
_REFERENCE = "… by pairs, if confidence explained nothing"
_MOST_ROWS = 60  # of a chart with a model in each
_READING = (
    "Lines are {level} intervals for the sampling of the sets. Bins and pairs are two ways of "
    "comparing images of equal confidence. The two rows by bins add up to the loss. A pair is an "
    "image of each set; the matched gap is their loss (Anzaku et al. 2022, arXiv 2209.01848). "
    "Images without a partner are left out of it."
)
_OF_REFERENCE = (
    " That alone makes it smaller than the loss: the last row is what would remain of this loss on "
    "pairs if confidence explained none of it (no-warning reference). Here, {relation}."
)

# Gaps of models by pair and matching, with the models as index and their accuracies.
Gaps = Mapping[tuple[str, str], pd.DataFrame]


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> Content:
    """Read a study's tables; make the section's headlines, charts, and table of all models."""
    titles, level = values["titles"], level_text(values["confidence"])
    study = StudyVerdicts.read(data, values["places"], values["margin"], values["confidence"])
    rows = [row for _, row in study.means.iterrows()]
    headlines, accuracy_charts = list[Headline](), list[Chart]()
    several = len(study.verdicts) > 1
    for verdict, path in zip(study.verdicts, data["calibration"], strict=True):
        pair_rows = [row for row in rows if row["pair"] == verdict.pair]
        first, charts = pair_rows[0], list[Chart]()
        models = study.gaps[verdict.pair, first["matching"]]
        is_mixed = verdict.claims[0].finding == "mixed"
        if is_mixed:  # the chart of models takes the place of that of their mean
            charts.append(_accuracy_chart(first, models, level))
        elif first["n_models"]:
            charts.append(_gap_chart(first, verdict, level))
        if len(models) > 1 and not is_mixed:
            prefix = f"{verdict.pair}: " * several
            accuracy_charts.append(_accuracy_chart(first, models, level, prefix))
        curves = CALIBRATION.read(path).to_pandas()
        confident = values.get("confident_errors", "").strip()
        charts.append(_calibration_chart(first, verdict.claims[1], curves, confident))
        headlines.append(Headline(
            words.subject_of(first),
            tuple(Sentence(claim.text, claim.strength, claim.reason) for claim in verdict.claims),
            verdict.next_step, tuple(charts), tuple(words.unmatched_notes(pair_rows, titles)),
        ))  # fmt: skip
    return Content(
        headlines=tuple(headlines),
        variables={
            "accuracies": accuracy_charts,
            "matchings": [*_statements(rows, study.gaps, titles, level, several=several)],
            "models": _model_table(study.gaps),
        },
        notes=tuple(words.suspicion_sentences(study.suspicions)),
        heading="Models",
    )


def _calibration_chart(
    row: pd.Series, claim: Claim, curves: pd.DataFrame, confident_errors: str
) -> Chart:
    """Chart accuracy against confidence on both sets, with a point for each tenth of a set."""
    series = [
        Series(
            row[origin],
            [
                Point(
                    100 * tenth["confidence"], 100 * tenth["accuracy"],
                    f"{row[origin]}, part {tenth['tenth']} of {len(curves) // 2}",
                    f"confidence {100 * tenth['confidence']:.1f} %, accuracy "
                    f"{100 * tenth['accuracy']:.1f} %",
                )
                for tenth in curves[curves["origin"] == origin].to_dict("records")
            ],
            origin,
        )
        for origin in ORIGINS
    ]  # fmt: skip
    values = 100 * curves[["confidence", "accuracy"]].to_numpy()
    ends = float(values.min()), float(values.max())
    line = Line("confidence = accuracy", "reference", ends, ends)
    title = _describe_calibration(claim) or "no difference of mean confidence and accuracy is shown"
    if claim.finding == "mixed":
        title = "models differ in calibration"
    return Chart(
        f"On {row['replication']}, {title}",
        "mean confidence (%)", "accuracy (%)", series, [line], is_square=True, is_joined=True,
        note="Each point is a tenth of a set, by rising confidence; below the dashed line, a model "
        f"is more confident than accurate. {confident_errors[:1].upper()}{confident_errors[1:]}",
    )  # fmt: skip


def _gap_chart(row: pd.Series, verdict: Verdict, level: str) -> Chart:
    """Chart a pair's gap, its parts, the matched gap, and that of the no-warning reference."""
    points = [
        Point(
            100 * row[name], i, label, f"{with_interval(row, name)} points",
            x_bounds=bounds_in_percent(row, name),
        )
        for i, (name, label) in enumerate(_ROWS.items())
    ]  # fmt: skip
    names, note = list(_ROWS.values()), _READING.format(level=level)
    left = row["gap"] * (1 - row["reference_narrowing"])
    if not pd.isna(left):
        names.append(_REFERENCE)
        note += _OF_REFERENCE.format(relation=_compare_with_reference(row, left))
        text = f"{signed(100 * left, 1)} points, by the no-warning reference"
        points.append(Point(100 * left, len(points), names[-1], text))
    return Chart(
        _gap_title(verdict), "← gained · points of accuracy · lost →", "", [Series("", points)],
        categories=names, zero="x", note=note,
    )  # fmt: skip


def _gap_title(verdict: Verdict) -> str:
    """Say in a few words how accuracy changes, and whether mean confidence matches it."""
    accuracy, calibration, *_ = verdict.claims
    sure, unsure = {
        "loss": ("falls", "seems to fall"),
        "gain": ("rises", "seems to rise"),
        "small": ("hardly differs", "seems hardly to differ"),
        "mixed": ("changes differently by model", "seems to change differently by model"),
    }.get(accuracy.finding, ("is not shown to differ",) * 2)
    title = f"Accuracy {sure if accuracy.strength == 'established' else unsure}"
    return "; ".join(filter(None, [title, _describe_calibration(calibration)]))


def _describe_calibration(claim: Claim) -> str:
    """Say whether mean confidence is right, too high or too low; nothing without a finding."""
    is_so = "is" if claim.strength == "established" else "seems"
    adjective = {"small": "right", "overconfident": "too high", "underconfident": "too low"}
    word = adjective.get(claim.finding)
    return f"mean confidence {is_so} {word}" if word else ""


def _compare_with_reference(row: pd.Series, reference: float) -> str:
    """Say whether more or less remains on pairs than if confidence explained nothing."""
    if row["matched_gap_low"] > reference:
        return "more remains than that"
    if row["matched_gap_high"] < reference:
        return "less remains than that, as confidence explains a part"
    return "as much remains, within chance: pairs alone do not show that confidence explains any"


def _accuracy_chart(row: pd.Series, table: pd.DataFrame, level: str, prefix: str = "") -> Chart:
    """Chart models' accuracies on both sets, a row per model; of too many, their gaps."""
    if len(table) > _MOST_ROWS:
        return _gap_chart_by_model(row, table, level)
    table = table.sort_values("accuracy_original", ascending=False, kind="stable")
    series = [
        Series(
            row[origin],
            [
                Point(
                    100 * model[f"accuracy_{origin}"], i, str(name),
                    f"{_accuracies_text(model)}\ngap: {with_interval(model, 'gap')} points",
                    # From the other series' point: the line between both.
                    x_bounds=tuple(100 * model[f"accuracy_{o}"] for o in ORIGINS)
                    if origin == "replication" else (float("nan"),) * 2,
                )
                for i, (name, model) in enumerate(table.iterrows())
            ],
            origin,
        )
        for origin in ORIGINS
    ]  # fmt: skip
    lower, higher = int((table["gap"] > 0).sum()), int((table["gap"] < 0).sum())
    title = f"{prefix}{lower} of {len(table)} models {'is' if lower == 1 else 'are'} less "
    title += f"accurate on {row['replication']}" + f", {higher} more accurate" * bool(higher)
    return Chart(title, "accuracy (%)", "", series, categories=[*map(str, table.index)])


def _statements(
    rows: Sequence[pd.Series], gaps: Gaps, titles: Mapping[str, str], level: str, *, several: bool
) -> Iterator[tuple[str, Chart | None, str]]:
    """Yield title, chart of models (if it adds anything) and statement for each row of means."""
    pairs = set[str]()
    for row in rows:
        name = f"{row['pair']}: " * several + titles[row["matching"]]
        table = gaps[row["pair"], row["matching"]]
        # That of a pair's first matching of many models is shown above.
        is_above = len(table) > _MOST_ROWS and row["pair"] not in pairs
        pairs.add(row["pair"])
        chart = None if len(table) == 1 or is_above else _gap_chart_by_model(row, table, level)
        yield name, chart, words.describe_gap(row)


def _gap_chart_by_model(row: pd.Series, gaps: pd.DataFrame, level: str) -> Chart:
    """Chart each model's gap and matched gap against its accuracy on the original."""
    models = [model for _, model in gaps.reset_index().iterrows()]
    series = [
        Series(
            label,
            [
                Point(
                    100 * model["accuracy_original"], 100 * model[quantity], model["model"],
                    _gaps_text(model), y_bounds=bounds_in_percent(model, quantity),
                )
                for model in models
            ],
        )
        for quantity, label in _QUANTITIES.items()
    ]  # fmt: skip
    return Chart(
        f"The matched gap is smaller than the gap for {row['n_narrower']} of {len(models)} models",
        f"accuracy on {row['original']} (%)", "percentage points", series, zero="y",
        note=f"Gaps with {level} intervals.",
    )  # fmt: skip


def _accuracies_text(model: pd.Series) -> str:
    return "\n".join(f"{o}: {percent(model[f'accuracy_{o}'], 2)}" for o in ORIGINS)


def _gaps_text(model: pd.Series) -> str:
    accuracy = percent(model["accuracy_original"], 2)
    lines = [f"{label}: {with_interval(model, name)}" for name, label in _QUANTITIES.items()]
    return "\n".join([f"accuracy on the original: {accuracy}", *lines])


def _model_table(gaps: Gaps) -> HtmlTable:
    """Make a table with a row per pair and model: accuracies, gap, all matched gaps."""
    pairs, matchings = (list(dict.fromkeys(names)) for names in zip(*gaps, strict=True))
    rows = []
    for pair in pairs:
        order = ["accuracy_original", "model"]
        models = gaps[pair, matchings[0]].sort_values(order, ascending=[False, True])
        for name in models.index.tolist():
            model = models.loc[name]
            row = {"Model": name} | ({"Pair": pair} if len(pairs) > 1 else {})
            for origin in ORIGINS:
                row[f"Accuracy, {origin} (%)"] = f"{100 * model[f'accuracy_{origin}']:.2f}"
            row["Gap (points lost)"] = with_interval(model, "gap")
            for matching in matchings:
                model_gaps, title = gaps[pair, matching].loc[name], matching_label(matching)
                row[f"Matched gap, {title}"] = with_interval(model_gaps, "matched_gap")
                row[f"Unmatched, {title}"] = percent(model_gaps["fraction_unmatched"], 1)
            rows.append(row)
    columns = [
        TextColumn(head, [row[head] for row in rows], is_number=head not in ("Model", "Pair"))
        for head in rows[0]
    ]
    return HtmlTable("All models", tuple(columns))
