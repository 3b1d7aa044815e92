"""The tables of accuracy prediction for human readers."""

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.errors import (
    ALL,
    CORRELATIONS,
    COUNTS,
    ERRORS,
    GROUP_GAPS,
    RANKINGS,
    tabulate_correlations,
    tabulate_counts,
    tabulate_errors,
    tabulate_group_gaps,
    tabulate_rankings,
)
from matcheval.accuracy_prediction.gaps import (
    GAPS,
    MEASURES,
    PREDICTED_GAPS,
    join,
    tabulate_comparison,
)
from matcheval.accuracy_prediction.predicting import (
    CALIBRATED,
    DIRECT,
    LEAVE_ONE_OUT,
    PREDICTED,
    Calibration,
    predict_accuracies,
    with_places,
    without_placeholders,
)
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scoring import SCORES, WHOLE
from matcheval.errors import configuration_error
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TextColumn, signed, write_readable

LOGGER = logging.getLogger(__name__)

Paper = Literal["none", "p1", "p2"]
# Protocol, groups calibrated on, method, group of the sets.
Key = tuple[str, str, str, str]

P1_GROUPS = ("Syn1", "Syn2", "Natural", "Adv")
P2_SUITES = ("C10-Cs", "C10-W")

# By groups calibrated on (empty: no regression), then by method: errors on the other groups, in the
# order of P1_GROUPS.
_P1: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "": {"ac": (0.092, 0.075, 0.087, 0.476), "doc_feat": (0.058, 0.043, 0.072, 0.474)},
    "Syn1": {
        "disc_a_proxy": (0.052, 0.335, 1.109),
        "disc_auc": (0.042, 0.207, 0.94),
        "frechet": (0.0384, 0.113, 0.713),
        "mmd": (0.049, 0.104, 0.738),
        "rotation": (0.094, 0.115, 0.665),
        "doe": (0.045, 0.075, 0.524),
        "doc": (0.039, 0.050, 0.388),
    },
    "Syn2": {
        "disc_a_proxy": (0.070, 0.261, 1.04),
        "disc_auc": (0.056, 0.133, 0.836),
        "frechet": (0.044, 0.126, 0.661),
        "mmd": (0.052, 0.111, 0.678),
        "rotation": (0.082, 0.189, 0.588),
        "doe": (0.039, 0.096, 0.537),
        "doc": (0.032, 0.066, 0.432),
    },
    "Natural": {
        "disc_a_proxy": (0.163, 0.134, 0.734),
        "disc_auc": (0.145, 0.118, 0.723),
        "frechet": (0.056, 0.045, 0.691),
        "mmd": (0.083, 0.0596, 0.724),
        "rotation": (0.059, 0.098, 0.654),
        "doe": (0.146, 0.186, 0.371),
        "doc": (0.070, 0.096, 0.292),
    },
}
# In percentage points, in the order of P2_SUITES.
_P2 = {
    "prediction_score_0.7": (4.10, 7.14),
    "prediction_score_0.8": (3.83, 6.80),
    "prediction_score_0.9": (3.59, 6.42),
    "entropy": (3.97, 6.86),
    "atc_mc": (3.74, 6.64),
    "doc": (3.81, 6.75),
    "nuclear_norm": (3.58, 5.48),
    "frechet_reference": (6.04, 7.35),
    "bop_js": (3.63, 6.15),
    "ms_aol": (3.32, 4.45),
}
_SOURCES = {
    "p1": "Guillory et al. (2021), Table 2",
    "p2": "Sun et al. (2024), Table 2, 40 classifiers",
}


def published_errors(paper: Paper, suite: str) -> dict[Key, float]:
    """Return the errors that a paper prints."""
    if paper == "p1":
        return {
            (CALIBRATED if on else DIRECT, on, method, group): value
            for on, methods in _P1.items()
            for method, values in methods.items()
            for group, value in zip([g for g in P1_GROUPS if g != on], values, strict=True)
        }
    if paper == "p2" and suite in P2_SUITES:
        column = P2_SUITES.index(suite)
        return {(LEAVE_ONE_OUT, "", m, ALL): v[column] / 100 for m, v in _P2.items()}
    return {}


def check_published(paper: Paper, groups: Mapping[str, Set[str]], field: str) -> None:
    """Check that a study has names that a paper's errors can be put beside."""
    known: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
        "p1": ("group", P1_GROUPS, {name for names in groups.values() for name in names}),
        "p2": ("suite", P2_SUITES, set(groups)),
    }
    if paper in known:
        what, expected, given = known[paper]
        if not given & set(expected):
            raise configuration_error(
                f"the errors of {paper} are found by the name of the {what}, and no {what} is "
                f"called {' or '.join(expected)}",
                field=field,
                remedy=f"Give every {what} the name that the paper uses, or set published: none",
            )


MAX_COLUMNS = 26  # with more, subgroups are left to the files for programs
DASH = "–"
_PROTOCOLS = {
    "direct": "no regression",
    "calibrated": "calibrated on",
    "leave_one_out": "leave one set out",
}
_REGRESSORS = {"mlp": " (MLP)", "mlp_raw": " (MLP of raw scores)"}
_ROW = ["protocol", "regressor", "calibrated_on", "method", "variant"]


def how(row: Mapping[Any, Any]) -> str:
    """Return how predictions were made, in words."""
    text = _PROTOCOLS[row["protocol"]]
    text += f" {row['calibrated_on'].replace('+', ', ')}" if row["calibrated_on"] else ""
    return text + _REGRESSORS.get(row["regressor"], "")


def titles(rows: pd.DataFrame) -> list[str]:
    """Return the names of methods for readers, with their variants."""
    found = []
    for method, variant in zip(rows["method"], rows["variant"], strict=True):
        title = ALL_SCORES[f"{method}:{variant}" if variant else method].title
        found.append(f"{title} ({variant.replace('_', ' ')})" if variant else title)
    return found


def _numbers(values: Iterable[float], scale: float = 1, **options: Any) -> list[str]:
    """Format numbers of two digits; a dash stands for an unknown one."""
    return [DASH if np.isnan(v) else signed(scale * v, 2, **options) for v in values]


def _with_bounds(table: pd.DataFrame) -> list[str]:
    """Format a column of numbers with the two columns of its bounds."""
    return [
        DASH if np.isnan(value) else f"{signed(value, 2)} [{signed(low, 2)}, {signed(high, 2)}]"
        for value, low, high in table.itertuples(index=False, name=None)
    ]


def _how_column(rows: Sequence[Mapping[Any, Any]]) -> TextColumn:
    return TextColumn("How", [how(row) for row in rows], is_number=False)


def error_columns(
    table: pd.DataFrame, published: Mapping[Key, float] = MappingProxyType({}), paper: str = ""
) -> list[TextColumn]:
    """Format mean absolute errors: a row per method, a column per group of sets."""
    whole = table[table["view"] == WHOLE]
    places = whole[["group", "subgroup"]].drop_duplicates()
    if len(places) > MAX_COLUMNS:
        places = places[places["subgroup"] == ALL]
    keys = ["protocol", "regressor", "calibrated_on"]
    cells: dict[str, list[str]] = {"How": [], "Method": []}
    heads = {place: place_name(*place) for place in places.itertuples(index=False, name=None)}
    printed = {key[-1] for key in published}
    for (group, subgroup), head in heads.items():
        cells[head] = []
        if subgroup == ALL and group in printed:
            cells[f"{head}, {paper}"] = []
    cells |= {"95 % over sets": [], "95 % over subgroups": [], "Bias": [], "n/a": []}
    for case, block in whole.groupby(keys, sort=False):
        rows = block[["method", "variant"]].drop_duplicates()
        cells["How"] += [how(dict(zip(keys, case, strict=True)))] * (len(rows) + 1)
        cells["Method"] += [*titles(rows), "mean of methods"]
        for (group, subgroup), head in heads.items():
            column = block[(block["group"] == group) & (block["subgroup"] == subgroup)]
            merged = rows.merge(column, on=["method", "variant"], how="left")
            cells[head] += _marked(merged)
            if subgroup == ALL and group in printed:
                cells[f"{head}, {paper}"] += [*_published(rows, case, group, published), ""]
        total = rows.merge(
            block[(block["group"] == ALL) & (block["subgroup"] == ALL)], on=["method", "variant"]
        )
        for of in ("sets", "subgroups"):
            ends = 100 * total[[f"mae_{of}_low", f"mae_{of}_high"]]
            bounds = [DASH if np.isnan(a) else f"[{a:.2f}, {b:.2f}]" for a, b in ends.to_numpy()]
            cells[f"95 % over {of}"] += [*bounds, ""]
        cells["Bias"] += [*_numbers(total["bias"], 100, plus=True), ""]
        cells["n/a"] += [*(str(n or "") for n in total["n_missing"]), ""]
    return [
        TextColumn(head, column, is_number=head not in ("How", "Method"))
        for head, column in cells.items()
    ]


def _published(
    rows: pd.DataFrame, case: Sequence[Any], group: str, published: Mapping[Key, float]
) -> list[str]:
    """Format what a paper prints; empty for variants and for other regressors than a line."""
    protocol, regressor, on = case
    values = [
        published.get((protocol, on, method, group))
        for method in rows["method"].where(
            (rows["variant"] == "") & (regressor not in _REGRESSORS), ""
        )
    ]
    return ["" if value is None else f"{100 * value:.2f}" for value in values]


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
    texts = [f"{100 * value:.2f}" for value in values]
    finite = sorted({text for text, is_full in zip(texts, full, strict=True) if is_full}, key=float)
    marks = dict(zip(finite, ("**", "*"), strict=False)) if full.sum() > 2 else {}
    cells = [f"{text} (n = {n:g})" for text, n in zip(texts, n_sets, strict=True)]
    for row, is_known in enumerate(known):
        if full[row] or not is_known:
            cells[row] = texts[row] + marks.get(texts[row], "") if is_known else DASH
    return [*cells, f"{100 * values[full].mean():.2f}" if full.any() else DASH]


def correlation_columns(table: pd.DataFrame, uncounted: Sequence[str] = ()) -> list[TextColumn]:
    """Format correlations of scores and accuracies: a row per method, means over models."""
    whole = table[(table["view"] == WHOLE) & ~table["model"].isin(uncounted)]
    every = whole[(whole["group"] == ALL) & (whole["subgroup"] == ALL)]
    rows = every[["method", "variant"]].drop_duplicates()
    columns = [TextColumn("Method", titles(rows), is_number=False)]
    kinds = ("spearman", "pearson", "kendall")
    for head, kind in zip(("Spearman ρ", "Pearson r", "Kendall τ-b"), kinds, strict=True):
        values = every.groupby(["method", "variant"], sort=False)[kind].agg(["mean", "min", "max"])
        head += ", mean [lowest, highest] over models"
        columns.append(TextColumn(head, _with_bounds(values)))
    for group in dict.fromkeys(whole["group"]):
        part = whole[(whole["group"] == group) & (whole["subgroup"] == ALL)]
        if group != ALL and len(part):
            means = part.groupby(["method", "variant"], sort=False)["spearman"].mean()
            merged = [means.get((m, v), np.nan) for m, v in rows.itertuples(index=False, name=None)]
            columns.append(TextColumn(f"ρ in {group or 'no group'}", _numbers(merged)))
    return columns


def comparison_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors go with what the protocol says of a gap: a row per method."""
    rows = table[_ROW].drop_duplicates()
    columns = [
        _how_column(rows.to_dict("records")),
        TextColumn("Method", titles(rows), is_number=False),
    ]
    for position, (measure, title) in enumerate(MEASURES.items()):
        part = rows.merge(table[table["measure"] == measure], on=_ROW, how="left")
        if position == 0:
            columns.append(TextColumn("Error (points)", _numbers(part["mae"], 100)))
        for name, condition in (("with_error", ""), ("given_gap", ", given the gap")):
            # Given the gap, the confidence part says what the conditional part does.
            if (name, measure) != ("given_gap", "confidence_part"):
                cells = _with_bounds(part[[name, f"{name}_low", f"{name}_high"]])
                columns.append(TextColumn(f"ρ with {title}{condition}", cells))
    return columns


def setting_notes(settings: Mapping[str, Any], reasons: Sequence[str] = ()) -> list[str]:
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
    rows = table.to_dict("records")
    return [
        _how_column(rows),
        *(
            TextColumn(
                head,
                [place_name(row[f"group_{i}"], row[f"subgroup_{i}"]) for row in rows],
                is_number=False,
            )
            for i, head in ((1, "First sets"), (2, "Second sets"))
        ),
        TextColumn("Methods", [str(row["n_methods"]) for row in rows]),
        *_coefficients(table),
    ]


def count_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors go with numbers of images: a row per group."""
    rows = table.to_dict("records")
    groups = ["All" if row["group"] == ALL else row["group"] or "no group" for row in rows]
    return [
        _how_column(rows),
        TextColumn("Group", groups, is_number=False),
        TextColumn("Subgroups", [str(row["n_subgroups"]) for row in rows]),
        TextColumn("Images", [f"{row['n_images']:,}" for row in rows]),
        *_coefficients(table),
    ]


def _coefficients(table: pd.DataFrame) -> list[TextColumn]:
    return [
        TextColumn(head, _numbers(table[name]))
        for name, head in (("spearman", "Spearman ρ"), ("kendall", "Kendall τ-b"))
    ]


def write_predictions(
    *,
    suite: str,
    scores: Sequence[Path],
    agreement: Sequence[Path],
    rotation: Sequence[Path],
    calibrations: Sequence[Calibration],
    loo: bool,
    regressors: Sequence[str],
    clip: bool,
    places: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    confidence: float,
    uncounted: Sequence[str],
    published: Paper,
    predicted: Sequence[Path],
    errors: Sequence[Path],
    correlations: Sequence[Path],
    group_gaps: Sequence[Path],
    rankings: Sequence[Path],
    counts: Sequence[Path],
) -> None:
    """Write predicted accuracies, their errors, and what the scores and errors go with."""
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    every = with_places(without_placeholders(pd.concat(tables, ignore_index=True)), places)
    found = predict_accuracies(every, calibrations, loo=loo, regressors=regressors, clip=clip)
    for path in predicted:
        write_table(PREDICTED.from_frame(found), path)
    missing = found[found["predicted"].isna()]
    mean_errors = tabulate_errors(found[~found["model"].isin(uncounted)], confidence)
    printed = published_errors(published, suite)
    of_errors = setting_notes(settings, missing["reason"].tolist())
    if printed:
        of_errors.append(
            f"Columns marked {published.upper()} are printed in {_SOURCES[published]}; empty cells "
            "are not."
        )
    notes = setting_notes(settings)
    of_scores = setting_notes(settings, every.loc[every["score"].isna(), "reason"].tolist())
    write_readable(
        mean_errors, ERRORS,
        partial(error_columns, published=printed, paper=published.upper()),
        errors, of_errors,
    )  # fmt: skip
    write_readable(
        tabulate_correlations(every), CORRELATIONS,
        partial(correlation_columns, uncounted=uncounted),
        correlations, of_scores,
    )  # fmt: skip
    write_readable(
        tabulate_group_gaps(every), GROUP_GAPS, partial(gap_columns, uncounted=uncounted),
        group_gaps, notes,
    )  # fmt: skip
    write_readable(tabulate_rankings(mean_errors), RANKINGS, ranking_columns, rankings, notes)
    write_readable(tabulate_counts(mean_errors, found), COUNTS, count_columns, counts, notes)
    LOGGER.info("%d predictions, %d of them n/a", len(found), len(missing))


def write_model_errors(
    *,
    scored: str,
    predicted: Path,
    settings: Mapping[str, Any],
    confidence: float,
    errors: Sequence[Path],
) -> None:
    """Write the errors of the accuracies predicted for one model on a suite."""
    found = PREDICTED.read(predicted).to_pandas()
    found = found[found["model"] == scored]
    notes = setting_notes(settings, found.loc[found["predicted"].isna(), "reason"].tolist())
    write_readable(tabulate_errors(found, confidence), ERRORS, error_columns, errors, notes)


def write_comparison(
    *,
    predicted: Path,
    gaps: Sequence[Path],
    confidence: float,
    uncounted: Sequence[str],
    places: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    tables: Sequence[Path],
    of_suite: Path,
) -> None:
    """Write predicted gaps beside what the protocol says of them, and the gaps of all models."""
    tables_of_models = [GAPS.read(path).to_pandas() for path in gaps]
    every = with_places(pd.concat(tables_of_models, ignore_index=True), places)
    write_table(GAPS.from_frame(every), of_suite)
    joined = join(PREDICTED.read(predicted).to_pandas(), every)
    counted = joined[~joined["model"].isin(uncounted)]
    compared = tabulate_comparison(counted, confidence)
    write_readable(compared, PREDICTED_GAPS, comparison_columns, tables, setting_notes(settings))
    LOGGER.info("%d predicted gaps of %d sets", len(joined), joined["dataset"].nunique())
