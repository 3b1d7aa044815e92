"""The tables of accuracy prediction as they are written, beside the errors that papers print."""

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction import errors as tabulated
from matcheval.accuracy_prediction import gaps as matched
from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.errors import ALL, ERRORS
from matcheval.accuracy_prediction.predicting import PREDICTED, PROCEDURE
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scoring import SCORES, WHOLE
from matcheval.errors import configuration_error
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TextColumn, lay_out, signed, with_interval, write_readable
from matcheval.statistics.intervals import percent, schema_at_level

LOGGER = logging.getLogger(__name__)

# Mean absolute errors printed in papers: shown beside those of a study, used for nothing else.
# P1: Guillory et al. (2021), Table 2. P2: Sun et al. (2024), Table 2, the row of 40 classifiers.
Paper = Literal["none", "p1", "p2"]
# Protocol, groups calibrated on, method, group of the sets.
Key = tuple[str, str, str, str]

P1_GROUPS = ("Syn1", "Syn2", "Natural", "Adv")
P2_SUITES = ("C10-Cs", "C10-W")

# By method: errors without a regression on the groups in this order; and, for every group that is
# calibrated on but the last, errors on the other groups.
_P1_DIRECT = {"ac": (0.092, 0.075, 0.087, 0.476), "doc_feat": (0.058, 0.043, 0.072, 0.474)}
_P1_CALIBRATED = {
    "disc_a_proxy": ((0.052, 0.335, 1.109), (0.070, 0.261, 1.04), (0.163, 0.134, 0.734)),
    "disc_auc": ((0.042, 0.207, 0.94), (0.056, 0.133, 0.836), (0.145, 0.118, 0.723)),
    "frechet": ((0.0384, 0.113, 0.713), (0.044, 0.126, 0.661), (0.056, 0.045, 0.691)),
    "mmd": ((0.049, 0.104, 0.738), (0.052, 0.111, 0.678), (0.083, 0.0596, 0.724)),
    "rotation": ((0.094, 0.115, 0.665), (0.082, 0.189, 0.588), (0.059, 0.098, 0.654)),
    "doe": ((0.045, 0.075, 0.524), (0.039, 0.096, 0.537), (0.146, 0.186, 0.371)),
    "doc": ((0.039, 0.050, 0.388), (0.032, 0.066, 0.432), (0.070, 0.096, 0.292)),
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
        found = {
            (predicting.DIRECT, "", method, group): value
            for method, values in _P1_DIRECT.items()
            for group, value in zip(P1_GROUPS, values, strict=True)
        }
        for method, rows in _P1_CALIBRATED.items():
            for on, values in zip(P1_GROUPS[:-1], rows, strict=True):
                others = [group for group in P1_GROUPS if group != on]
                for group, value in zip(others, values, strict=True):
                    found[predicting.CALIBRATED, on, method, group] = value
        return found
    if paper == "p2" and suite in P2_SUITES:
        column = P2_SUITES.index(suite)
        return {(predicting.LEAVE_ONE_OUT, "", m, ALL): v[column] / 100 for m, v in _P2.items()}
    return {}


def check_published(paper: Paper, groups: Mapping[str, Set[str]], field: str) -> None:
    """Check that a study has names that a paper's errors can be put beside."""
    what, given = "suite", set(groups)
    if paper == "p1":
        what, given = "group", set().union(*groups.values())
    expected: Sequence[str] = P1_GROUPS if paper == "p1" else P2_SUITES
    if paper != "none" and given.isdisjoint(expected):
        raise configuration_error(
            f"the errors of {paper} are found by the name of the {what}, and no {what} is called "
            f"{' or '.join(expected)}",
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
    table: pd.DataFrame, published: Mapping[Key, float] = MappingProxyType({}), paper: str = ""
) -> list[TextColumn]:
    """Format mean absolute errors: a row per method, a column per group of sets."""
    whole = table[table["view"] == WHOLE]
    level = percent(table["confidence"].iloc[0]) if len(table) else ""
    places = whole[["group", "subgroup"]].drop_duplicates()
    if len(places) > MAX_COLUMNS:
        places = places[places["subgroup"] == ALL]
    printed = {key[-1] for key in published}
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
            if subgroup == ALL and group in printed:
                add(f"{head}, {paper}", *_published(rows, case, group, published), "")
        of_all = block[(block["group"] == ALL) & (block["subgroup"] == ALL)]
        total = rows.merge(of_all, on=["method", "variant"])
        for of in ("sets", "subgroups"):
            ends = 100 * total[[f"mae_{of}_low", f"mae_{of}_high"]].to_numpy()
            bounds = [DASH if np.isnan(a) else f"[{a:.2f}, {b:.2f}]" for a, b in ends]
            add(f"{level} over {of}", *bounds, "")
        add("Bias", *_numbers(total["bias"], 100, plus=True), "")
        add("n/a", *(str(n or "") for n in total["n_missing"]), "")
    return [
        TextColumn(head, column, is_number=head not in ("How", "Method"))
        for head, column in cells.items()
    ]


def _published(
    rows: pd.DataFrame, case: Sequence[Any], group: str, published: Mapping[Key, float]
) -> list[str]:
    """Format what a paper prints; empty for variants and for other regressors than a line."""
    protocol, regressor, on = case
    keys = [
        ("" if variant or regressor in _REGRESSORS else protocol, on, method, group)
        for method, variant in rows.itertuples(index=False, name=None)
    ]
    return [f"{100 * published[key]:.2f}" if key in published else "" for key in keys]


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


def write_predictions(
    *, suite: str, scores: Sequence[Path], agreement: Sequence[Path], rotation: Sequence[Path],
    calibrations: Sequence[predicting.Calibration], leave_one_out: bool, regressors: Sequence[str],
    clip: bool, places: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any],
    confidence: float, uncounted: Sequence[str], published: Paper, predicted: Sequence[Path],
    errors: Sequence[Path], correlations: Sequence[Path], group_gaps: Sequence[Path],
    rankings: Sequence[Path], counts: Sequence[Path],
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
    mean_errors = tabulated.tabulate_errors(found[~found["model"].isin(uncounted)], confidence)
    notes, printed = setting_notes(settings), published_errors(published, suite)
    notes_on_errors = setting_notes(settings, found.loc[missing, "reason"])
    if printed:
        notes_on_errors.append(
            f"Columns marked {published.upper()} are printed in {_SOURCES[published]}; empty cells "
            "are not."
        )
    notes_on_scores = setting_notes(settings, every.loc[every["score"].isna(), "reason"])
    of_errors = partial(error_columns, published=printed, paper=published.upper())
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
    ):  # fmt: skip
        write_readable(table, schema, columns, paths, own_notes)
    LOGGER.info("%d predictions, %d of them n/a", len(found), missing.sum())


def write_model_errors(
    *, scored: str, predicted: Path, settings: Mapping[str, Any], confidence: float,
    errors: Sequence[Path],
) -> None:  # fmt: skip
    """Write the errors of the accuracies predicted for one model on a suite."""
    found = PREDICTED.read(predicted).to_pandas()
    found = found[found["model"] == scored]
    notes = setting_notes(settings, found.loc[found["predicted"].isna(), "reason"])
    mean_errors = tabulated.tabulate_errors(found, confidence)
    write_readable(mean_errors, ERRORS, error_columns, errors, notes)


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
