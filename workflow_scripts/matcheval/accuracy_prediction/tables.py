"""The tables of accuracy prediction as they are written, beside the errors that papers print."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction import differences as compared
from matcheval.accuracy_prediction import errors as tabulated
from matcheval.accuracy_prediction import gaps as matched
from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.errors import ALL, ERRORS
from matcheval.accuracy_prediction.predicting import PREDICTED, PROCEDURE
from matcheval.accuracy_prediction.published import (
    MEAN,
    SOURCES,
    Key,
    Paper,
    Printed,
    published_errors,
)
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scoring import SCORES, WHOLE
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TextColumn, lay_out, signed, with_interval, write_readable
from matcheval.statistics.intervals import percent, schema_at_level

LOGGER = logging.getLogger(__name__)

MAX_COLUMNS = 26  # with more, subgroups are left to the files for programs
DASH = "–"
_PROTOCOLS = {
    "direct": "no regression",
    "calibrated": "calibrated on",
    "leave_one_out": "leave one set out",
}
_REGRESSORS = {"mlp": " (MLP)", "mlp_raw": " (MLP of raw scores)"}
_COEFFICIENTS = {"Spearman ρ": "{spearman:z.2f}", "Kendall τ-b": "{kendall:z.2f}"}


def how(row: Mapping[Any, Any]) -> str:
    """Return how predictions were made, in words."""
    text = _PROTOCOLS[row["protocol"]]
    text += f" {row['calibrated_on'].replace('+', ', ')}" if row["calibrated_on"] else ""
    return text + _REGRESSORS.get(row["regressor"], "")


def ways(rows: pd.DataFrame) -> list[str]:
    """Return how the predictions of rows were made, in words."""
    return [how(row) for row in rows.to_dict("records")]


_TITLES = {(one.method, one.variant): one.full_title for one in ALL_SCORES.values()}


def titles(rows: pd.DataFrame) -> list[str]:
    """Return the names of methods for readers, with their variants."""
    return [_TITLES[key] for key in zip(rows["method"], rows["variant"], strict=True)]


def _numbers(values: Iterable[float], scale: float = 1, **options: Any) -> list[str]:
    """Format numbers of two digits; a dash stands for an unknown one."""
    return [DASH if np.isnan(v) else signed(scale * v, 2, **options) for v in values]


def error_columns(
    table: pd.DataFrame, published: Mapping[Key, Printed] = MappingProxyType({}), paper: str = ""
) -> list[TextColumn]:
    """Format mean absolute errors: a row per method, a column per group of sets."""
    whole = table[table["view"] == WHOLE]
    level = percent(table["confidence"].iloc[0]) if len(table) else ""
    places = whole[["group", "subgroup"]].drop_duplicates()
    if len(places) > MAX_COLUMNS:
        places = places[places["subgroup"] == ALL]
    printed = {(key.group, key.subgroup) for key in published}
    cells: dict[str, list[str]] = {}

    def add(head: str, *rows: str) -> None:
        cells.setdefault(head, []).extend(rows)

    for case, block in whole.groupby(PROCEDURE, sort=False):
        rows = block[["method", "variant"]].drop_duplicates()
        add("How", *[how(dict(zip(PROCEDURE, case, strict=True)))] * (len(rows) + 1))
        add("Method", *titles(rows), "mean of methods")
        for group, subgroup in places.itertuples(index=False, name=None):
            column = block[(block["group"] == group) & (block["subgroup"] == subgroup)]
            head = place_name(group, subgroup)
            add(head, *_marked(rows.merge(column, on=["method", "variant"], how="left")))
            if (group, subgroup) in printed:
                add(f"{head}, {paper}", *_published(rows, case, (group, subgroup), published))
        of_all = block[(block["group"] == ALL) & (block["subgroup"] == ALL)]
        total = rows.merge(of_all, on=["method", "variant"])
        for of in ("sets", "subgroups"):
            ends = 100 * total[[f"mae_{of}_low", f"mae_{of}_high"]].to_numpy()
            bounds = [DASH if np.isnan(a) else f"[{a:.2f}, {b:.2f}]" for a, b in ends]
            add(f"{level} over {of}", *bounds, "")
        means = _numbers(total["mae_unflagged"], 100)
        counts = zip(means, total["n_unflagged"], strict=True)
        add("Flagged by none (n)", *(f"{mean} ({n})" for mean, n in counts), "")
        add("Flagged", *(str(n or "") for n in total["n_flagged"]), "")
        add("Bias", *_numbers(total["bias"], 100, plus=True), "")
        add("n/a", *(str(n or "") for n in total["n_missing"]), "")
    return [
        TextColumn(head, column, is_number=head not in ("How", "Method"))
        for head, column in cells.items()
    ]


def _published(
    rows: pd.DataFrame, case: Sequence[Any], place: tuple[str, str],
    published: Mapping[Key, Printed],
) -> list[str]:  # fmt: skip
    """Format what a paper prints, and its mean; empty for variants and regressors but a line."""
    protocol, regressor, on = case
    keys = [
        Key("" if variant or regressor in _REGRESSORS else protocol, on, method, *place)
        for method, variant in (*rows.itertuples(index=False, name=None), (MEAN, ""))
    ]
    return [str(published.get(key, "")) for key in keys]


def place_name(group: str, subgroup: str) -> str:
    """Return what readers call a column of sets."""
    if group == ALL:
        return "All (points)"
    name = group or "no group"
    return name if subgroup == ALL else f"{name}: {subgroup or 'no subgroup'}"


def _marked(column: pd.DataFrame) -> list[str]:
    """Format a column of errors, and their mean in the end."""
    values, n_sets = column["mae"].to_numpy(np.float64), column["n_sets"].to_numpy(np.float64)
    known = np.isfinite(values)
    full = known & (n_sets == np.max(n_sets[known], initial=0))
    texts = np.array([f"{100 * value:.2f}" for value in values], object)
    lowest = sorted(set(texts[full]), key=float)
    marks = dict(zip(lowest, ("**", "*"), strict=False)) if full.sum() > 2 else {}
    cells = [
        text + marks.get(text, "") if is_full else f"{text} (n = {n:g})" if is_known else DASH
        for text, n, is_full, is_known in zip(texts, n_sets, full, known, strict=True)
    ]
    return [*cells, f"{100 * values[full].mean():.2f}" if full.any() else DASH]


def correlation_columns(table: pd.DataFrame, uncounted: Sequence[str] = ()) -> list[TextColumn]:
    """Format correlations of scores and accuracies: a row per method, means over models."""
    keys = ["method", "variant"]
    heads = {"spearman": "Spearman ρ", "pearson": "Pearson r", "kendall": "Kendall τ-b"}
    whole = table[(table["view"] == WHOLE) & ~table["model"].isin(uncounted)]
    whole = whole[whole["subgroup"] == ALL]
    every = whole[whole["group"] == ALL].groupby(keys, sort=False)
    means = every[list(heads)].agg(["mean", "min", "max"])
    means.columns = pd.Index([kind + end for kind in heads for end in ("", "_low", "_high")])
    columns = lay_out(
        means.assign(title=titles(means.reset_index())),
        {"Method": "{title}"} | {
            f"{head}, mean [lowest, highest] over models": with_interval(kind, "z.2f")
            for kind, head in heads.items()
        },
    )  # fmt: skip
    for group in dict.fromkeys(whole["group"]):
        if group != ALL:
            values = whole[whole["group"] == group].groupby(keys, sort=False)["spearman"].mean()
            cells = _numbers(values.reindex(means.index))
            columns.append(TextColumn(f"ρ in {group or 'no group'}", cells))
    return columns


def comparison_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors go with what the protocol says of a gap: a row per method."""
    keys = [*PROCEDURE, "method", "variant"]
    rows = table[keys].drop_duplicates()
    rows = rows.assign(how=ways(rows), title=titles(rows))
    heads = {"How": "{how}", "Method": "{title}", "Error (points)": "{mae:.2%}"}
    columns: list[TextColumn] = []
    for measure, title in matched.MEASURES.items():
        heads |= {f"ρ with {title}": with_interval("with_error", "z.2f")}
        if measure != "confidence_part":  # given the gap, it says what the conditional part does
            heads |= {f"ρ with {title}, given the gap": with_interval("given_gap", "z.2f")}
        part = rows.merge(table[table["measure"] == measure], on=keys, how="left")
        columns += lay_out(part, heads)
        heads = {}
    return columns


def setting_notes(settings: Mapping[str, Any], reasons: Iterable[str] = ()) -> list[str]:
    """Return sentences for below a table: the settings, and why values are n/a."""
    notes = ["Settings: " + "; ".join(f"{key} {value}" for key, value in settings.items()) + "."]
    for reason, count in pd.Series(list(reasons), dtype=object).value_counts().items():
        notes.append(f"n/a {count} times: {reason}.")
    return notes


MAX_PAIRS = 200  # with more, pairs of subgroups are left to the files for programs


def gap_columns(table: pd.DataFrame, uncounted: Sequence[str] = ()) -> list[TextColumn]:
    """Format mean gaps: a row per model, a column per group of sets (P1, Table 1)."""
    gaps = table.pivot_table(index="model", columns="group", values="gap", sort=False)
    groups = [*(g for g in dict.fromkeys(table["group"]) if g != ALL), ALL]
    means = gaps[~gaps.index.isin(uncounted)].mean()
    columns = [TextColumn("Model", [*gaps.index, "mean of models"], is_number=False)]
    for group in groups:
        values = _numbers([*gaps[group], means[group]], 100)
        columns.append(TextColumn(place_name(group, ALL), values))
    return columns


def ranking_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how methods rank on two groups of sets: a row per pair."""
    if len(table) > MAX_PAIRS:
        table = table[(table["subgroup_1"] == ALL) & (table["subgroup_2"] == ALL)]
    places = {
        which: list(map(place_name, table[f"group_{number}"], table[f"subgroup_{number}"]))
        for number, which in ((1, "first"), (2, "second"))
    }
    return lay_out(
        table.assign(how=ways(table), **places),
        {
            "How": "{how}", "First sets": "{first}", "Second sets": "{second}",
            "Methods": "{n_methods:d}", **_COEFFICIENTS,
        },
    )  # fmt: skip


def count_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors go with numbers of images: a row per group."""
    groups = ["All" if group == ALL else group or "no group" for group in table["group"]]
    return lay_out(
        table.assign(how=ways(table), group=groups),
        {
            "How": "{how}", "Group": "{group}", "Subgroups": "{n_subgroups:d}",
            "Images": "{n_images:,d}", **_COEFFICIENTS,
        },
    )  # fmt: skip


def difference_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the differences from the method with the lowest error, by way and group."""
    keys = [*PROCEDURE, "group"]
    lowest = table.groupby(keys, sort=False)["method_1"].transform("first")
    rows = table[table["method_1"] == lowest]
    level = percent(table["confidence"].iloc[0]) if len(table) else ""
    return lay_out(
        rows.assign(how=ways(rows)),
        {
            "How": "{how}", "Sets": "{group}", "Lowest error": "{method_1}",
            "Compared": "{method_2}",
            f"Difference (points) [{level}, simultaneous]": with_interval("difference", ".2%"),
            "Methods": "{n_methods:d}", "Subgroups": "{n_subgroups:d}",
        },
    )  # fmt: skip


def between_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how methods rank on two suites: a row per classifier."""
    return lay_out(
        table.assign(how=ways(table)),
        {
            "How": "{how}", "First suite": "{suite_1}", "Second suite": "{suite_2}",
            "Classifier": "{model}", "Methods": "{n_methods:d}",
            "Spearman ρ": "{spearman:z.2f}", "Kendall τ-b": "{kendall:z.2f}",
        },
    )  # fmt: skip


def write_predictions(
    *, suite: str, scores: Sequence[Path], agreement: Sequence[Path], rotation: Sequence[Path],
    calibrations: Sequence[predicting.Calibration], leave_one_out: bool, regressors: Sequence[str],
    clip: bool, places: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any],
    confidence: float, uncounted: Sequence[str], published: Paper, predicted: Sequence[Path],
    errors: Sequence[Path], correlations: Sequence[Path], group_gaps: Sequence[Path],
    rankings: Sequence[Path], counts: Sequence[Path], differences: Sequence[Path],
) -> None:  # fmt: skip
    """Write predicted accuracies, their errors, and what the scores and errors go with."""
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    every = predicting.without_placeholders(pd.concat(tables, ignore_index=True))
    every = predicting.with_places(every, places)
    found = predicting.predict_accuracies(
        every, calibrations, loo=leave_one_out, regressors=regressors, clip=clip
    )
    write_table(PREDICTED.from_frame(found), *predicted)
    missing = found["predicted"].isna()
    counted_models = found[~found["model"].isin(uncounted)]
    mean_errors = tabulated.tabulate_errors(counted_models, confidence)
    paired = compared.tabulate_differences(counted_models, confidence)
    notes, printed = setting_notes(settings), published_errors(published, suite)
    notes_on_errors = setting_notes(settings, found.loc[missing, "reason"])
    notes_on_errors += _note_on_published(published, printed)
    notes_on_scores = setting_notes(settings, every.loc[every["score"].isna(), "reason"])
    of_errors = partial(error_columns, published=printed, paper=paper_name(published))
    of_scores = partial(correlation_columns, uncounted=uncounted)
    of_gaps = partial(gap_columns, uncounted=uncounted)
    ranked = tabulated.tabulate_rankings(mean_errors)
    counted = tabulated.tabulate_counts(mean_errors, found)
    for table, schema, columns, paths, own_notes in (
        (mean_errors, ERRORS, of_errors, errors, notes_on_errors),
        (tabulated.tabulate_correlations(every), tabulated.CORRELATIONS, of_scores, correlations,
         notes_on_scores),
        (tabulated.tabulate_group_gaps(every), tabulated.GROUP_GAPS, of_gaps, group_gaps, notes),
        (ranked, tabulated.RANKINGS, ranking_columns, rankings, notes),
        (counted, tabulated.COUNTS, count_columns, counts, notes),
        (paired, compared.DIFFERENCES, difference_columns, differences, notes),
    ):  # fmt: skip
        write_readable(table, schema, columns, paths, own_notes)
    LOGGER.info("%d predictions, %d of them n/a", len(found), missing.sum())


def paper_name(paper: Paper) -> str:
    """Return what the documentation calls a paper."""
    return paper[:2].upper()


def _note_on_published(paper: Paper, printed: Mapping[Key, Printed]) -> list[str]:
    """Return the sentence below a table on the columns of a paper; none if it has none."""
    if not printed:
        return []
    more = "standard deviations in brackets" if paper == "p1" else "means of the paper's methods"
    source = f"Columns marked {paper_name(paper)} are printed in {SOURCES[paper]}; {more}"
    return [f"{source}; empty cells are not."]


def write_model_errors(
    *, scored: str, suite: str, predicted: Path, settings: Mapping[str, Any], confidence: float,
    published: Paper, errors: Sequence[Path], counts: Sequence[Path],
) -> None:  # fmt: skip
    """Write the errors of the accuracies predicted for one model on a suite (P2, also A.2.2)."""
    found = PREDICTED.read(predicted).to_pandas()
    found = found[found["model"] == scored]
    notes = setting_notes(settings, found.loc[found["predicted"].isna(), "reason"])
    printed = published_errors(published, suite, scored)
    notes += _note_on_published("p2", printed)
    of_errors = partial(error_columns, published=printed, paper=paper_name(published))
    mean_errors = tabulated.tabulate_errors(found, confidence)
    write_readable(mean_errors, ERRORS, of_errors, errors, notes)
    counted = tabulated.tabulate_counts(mean_errors, found)
    write_readable(counted, tabulated.COUNTS, count_columns, counts, setting_notes(settings))


def write_between_suites(
    *, predicted: Sequence[Path], uncounted: Sequence[str], outputs: Sequence[Path]
) -> None:
    """Write how methods rank by their errors on two suites, by classifier (P2, A.2.3, A.2.4)."""
    every = pd.concat([PREDICTED.read(path).to_pandas() for path in predicted])
    table = compared.tabulate_between(every[every["view"] == WHOLE], uncounted)
    write_readable(table, compared.BETWEEN, between_columns, outputs)


def write_comparison(
    *, predicted: Path, gaps: Sequence[Path], confidence: float, uncounted: Sequence[str],
    places: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any], tables: Sequence[Path],
    of_suite: Path,
) -> None:  # fmt: skip
    """Write predicted gaps beside what the protocol says of them, and the gaps of all models."""
    schema = matched.GAPS
    every = pd.concat([schema.read(path).to_pandas() for path in gaps], ignore_index=True)
    every = predicting.with_places(every, places)
    write_table(schema_at_level(schema, confidence).from_frame(every), of_suite)
    joined = matched.join(PREDICTED.read(predicted).to_pandas(), every)
    counted = matched.tabulate_comparison(joined[~joined["model"].isin(uncounted)], confidence)
    notes = setting_notes(settings)
    write_readable(counted, matched.PREDICTED_GAPS, comparison_columns, tables, notes)
    LOGGER.info("%d predicted gaps of %d sets", len(joined), joined["dataset"].nunique())
