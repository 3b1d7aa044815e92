"""The tables of accuracy prediction as they are written, beside the errors that papers print."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction import differences as compared
from matcheval.accuracy_prediction import errors as tabulated
from matcheval.accuracy_prediction import predicting
from matcheval.accuracy_prediction.errors import ALL, ERRORS
from matcheval.accuracy_prediction.predicting import PREDICTED, PROCEDURE
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scoring import SCORES, WHOLE
from matcheval.errors import configuration_error
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TextColumn, lay_out, signed, with_interval
from matcheval.statistics.intervals import percent

LOGGER = logging.getLogger(__name__)

# --- Errors that papers print: shown beside those of a study, used for nothing else

_FILE = Path(__file__).with_name("published.csv")
Paper = Literal["none", "p1", "p2", "p2_40"]

P1_GROUPS = ("Syn1", "Syn2", "Natural", "Adv")
P2_SUITES = ("C10-Cs", "C10-W")
MEAN = "mean"  # of the methods
SOURCES: Mapping[Paper, str] = {
    "p1": "Guillory et al. (2021), Table 2",
    "p2": "Sun et al. (2024), Table 6",
    "p2_40": "Sun et al. (2024), Table 2",
}
_CLASSIFIERS: Mapping[Paper, str] = {"p1": "", "p2": "70", "p2_40": "40"}


class Key(NamedTuple):
    """What a printed error is of."""

    protocol: str
    calibrated_on: str
    method: str
    group: str
    subgroup: str


class Printed(NamedTuple):
    """A printed mean absolute error, and its standard deviation; NaN if there is none."""

    error: float
    sd: float

    def __str__(self) -> str:
        sd = "" if pd.isna(self.sd) else f" ({100 * self.sd:.2f})"
        return f"{100 * self.error:.2f}{sd}"


@cache
def _table() -> pd.DataFrame:
    texts = dict.fromkeys(("classifiers", "calibrated_on", "suite"), str)
    return pd.read_csv(_FILE, dtype=texts, keep_default_na=False, na_values={"sd": [""]})


def table_digest() -> str:
    """Return a digest of the printed values, which repeats the jobs that show them."""
    return hashlib.sha256(_FILE.read_bytes()).hexdigest()


def published_errors(paper: Paper, suite: str, model: str = "") -> dict[Key, Printed]:
    """Return the errors that a paper prints: means over classifiers, or those of one model.

    `published.csv` has them as fractions. p1: Guillory et al. (2021), Table 2, with standard
    deviations of which the paper does not say what they are over. p2: Sun et al. (2024), Tables 2
    and 6; method `mean` is the row Avg, over ten methods.
    """
    rows = _table()
    of_suite = rows["suite"].isin(["", suite])
    classifiers = model or _CLASSIFIERS.get(paper)
    chosen = (rows["paper"] == paper[:2]) & (rows["classifiers"] == classifiers) & of_suite
    columns = [*Key._fields, *Printed._fields]
    return {Key(*row[:5]): Printed(*row[5:]) for row in rows.loc[chosen, columns].to_numpy()}


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


# --- Tables for readers

MAX_COLUMNS = 26  # with more, subgroups are left to the files for programs
DASH = "–"
_PROTOCOLS = {
    "direct": "no regression",
    "calibrated": "calibrated on",
    "leave_one_out": "leave one set out",
}
_REGRESSORS = {"mlp": " (MLP)", "mlp_raw": " (MLP of raw scores)"}
_COEFFICIENTS = {"Spearman ρ": "{spearman:z.2f}", "Kendall τ-b": "{kendall:z.2f}"}


def procedure_label(protocol: str, regressor: str, calibrated_on: str) -> str:
    """Return how predictions were made, in words."""
    groups = f" {calibrated_on.replace('+', ', ')}" if calibrated_on else ""
    return _PROTOCOLS[protocol] + groups + _REGRESSORS.get(regressor, "")


def procedure_labels(rows: pd.DataFrame) -> list[str]:
    """Return how the predictions of rows were made, in words."""
    return [procedure_label(*procedure) for procedure in rows[PROCEDURE].to_numpy()]


_TITLES = {(score.method, score.variant): score.full_title for score in ALL_SCORES.values()}


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
        add("How", *[procedure_label(*map(str, case))] * (len(rows) + 1))
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


def correlation_columns(
    table: pd.DataFrame, excluded_from_mean: Sequence[str] = ()
) -> list[TextColumn]:
    """Format correlations of scores and accuracies: a row per method, means over models."""
    keys = ["method", "variant"]
    heads = {"spearman": "Spearman ρ", "pearson": "Pearson r", "kendall": "Kendall τ-b"}
    whole = table[(table["view"] == WHOLE) & ~table["model"].isin(excluded_from_mean)]
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


def setting_notes(settings: Mapping[str, Any], reasons: Iterable[str] = ()) -> list[str]:
    """Return sentences for below a table: the settings, and why values are n/a."""
    notes = ["Settings: " + "; ".join(f"{key} {value}" for key, value in settings.items()) + "."]
    for reason, count in pd.Series(list(reasons), dtype=object).value_counts().items():
        notes.append(f"n/a {count} times: {reason}.")
    return notes


MAX_PAIRS = 200  # with more, pairs of subgroups are left to the files for programs


def gap_columns(table: pd.DataFrame, excluded_from_mean: Sequence[str] = ()) -> list[TextColumn]:
    """Format mean gaps: a row per model, a column per group of sets (P1, Table 1)."""
    gaps = table.pivot_table(index="model", columns="group", values="gap", sort=False)
    groups = [*(g for g in dict.fromkeys(table["group"]) if g != ALL), ALL]
    means = gaps[~gaps.index.isin(excluded_from_mean)].mean()
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
        table.assign(how=procedure_labels(table), **places),
        {
            "How": "{how}", "First sets": "{first}", "Second sets": "{second}",
            "Methods": "{n_methods:d}", **_COEFFICIENTS,
        },
    )  # fmt: skip


def count_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format how errors correlate with numbers of images: a row per group."""
    groups = ["All" if group == ALL else group or "no group" for group in table["group"]]
    return lay_out(
        table.assign(how=procedure_labels(table), group=groups),
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
        rows.assign(how=procedure_labels(rows)),
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
        table.assign(how=procedure_labels(table)),
        {
            "How": "{how}", "First suite": "{suite_1}", "Second suite": "{suite_2}",
            "Classifier": "{model}", "Methods": "{n_methods:d}",
            **_COEFFICIENTS,
        },
    )  # fmt: skip


def write_predictions(
    *, suite: str, scores: Sequence[Path], agreement: Sequence[Path], rotation: Sequence[Path],
    calibrations: Sequence[predicting.Calibration], leave_one_out: bool, regressors: Sequence[str],
    clip: bool, places: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any],
    confidence: float, excluded_from_mean: Sequence[str], published: Paper,
    predicted: Sequence[Path], errors: Sequence[Path], correlations: Sequence[Path],
    group_gaps: Sequence[Path], rankings: Sequence[Path], counts: Sequence[Path],
    differences: Sequence[Path],
) -> None:  # fmt: skip
    """Write predicted accuracies, their errors, and what scores and errors correlate with."""
    tables = [SCORES.read(path).to_pandas() for path in (*rotation, *scores, *agreement)]
    scored = predicting.without_placeholders(pd.concat(tables, ignore_index=True))
    scored = predicting.with_places(scored, places)
    table = predicting.predict_accuracies(
        scored, calibrations, loo=leave_one_out, regressors=regressors, clip=clip
    )
    write_table(PREDICTED.from_frame(table), *predicted)
    in_means = table[~table["model"].isin(excluded_from_mean)]
    mean_errors = _write_errors(
        in_means, published, published_errors(published, suite), confidence, errors,
        setting_notes(settings, table.loc[table["predicted"].isna(), "reason"]),
    )  # fmt: skip
    tabulated.CORRELATIONS.write(
        tabulated.tabulate_correlations(scored), correlations,
        setting_notes(settings, scored.loc[scored["score"].isna(), "reason"]),
        shown=partial(correlation_columns, excluded_from_mean=excluded_from_mean),
    )  # fmt: skip
    of_gaps = partial(gap_columns, excluded_from_mean=excluded_from_mean)
    for rows, schema, columns, paths in (
        (tabulated.tabulate_group_gaps(scored), tabulated.GROUP_GAPS, of_gaps, group_gaps),
        (tabulated.tabulate_rankings(mean_errors), tabulated.RANKINGS, ranking_columns, rankings),
        (tabulated.tabulate_counts(mean_errors, table), tabulated.COUNTS, count_columns, counts),
        (compared.tabulate_differences(in_means, confidence), compared.DIFFERENCES,
         difference_columns, differences),
    ):  # fmt: skip
        schema.write(rows, paths, setting_notes(settings), shown=columns)
    LOGGER.info("%d predictions, %d of them n/a", len(table), table["predicted"].isna().sum())


def _write_errors(
    predicted: pd.DataFrame, paper: Paper, printed: Mapping[Key, Printed], confidence: float,
    paths: Sequence[Path], notes: Sequence[str],
) -> pd.DataFrame:  # fmt: skip
    """Write mean errors beside those that a paper prints, and return them."""
    mean_errors = tabulated.tabulate_errors(predicted, confidence)
    name = paper[:2].upper()
    if printed:
        more = (
            "standard deviations in brackets" if paper == "p1" else "means of the paper's methods"
        )
        source = f"Columns marked {name} are printed in {SOURCES[paper]}; {more}"
        notes = [*notes, f"{source}; empty cells are not."]
    columns = partial(error_columns, published=printed, paper=name)
    ERRORS.write(mean_errors, paths, notes, shown=columns)
    return mean_errors


def write_model_errors(
    *, scored: str, suite: str, predicted: Path, settings: Mapping[str, Any], confidence: float,
    published: Paper, errors: Sequence[Path], counts: Sequence[Path],
) -> None:  # fmt: skip
    """Write the errors of the accuracies predicted for one model on a suite (P2, also A.2.2)."""
    table = PREDICTED.read(predicted).to_pandas()
    table = table[table["model"] == scored]
    mean_errors = _write_errors(
        table, "p2", published_errors(published, suite, scored), confidence, errors,
        setting_notes(settings, table.loc[table["predicted"].isna(), "reason"]),
    )  # fmt: skip
    rows = tabulated.tabulate_counts(mean_errors, table)
    tabulated.COUNTS.write(rows, counts, setting_notes(settings), shown=count_columns)


def write_between_suites(
    *, predicted: Sequence[Path], excluded_from_mean: Sequence[str], outputs: Sequence[Path]
) -> None:
    """Write how methods rank by their errors on two suites, by classifier (P2, A.2.3, A.2.4)."""
    every = pd.concat([PREDICTED.read(path).to_pandas() for path in predicted])
    table = compared.tabulate_between(every[every["view"] == WHOLE], excluded_from_mean)
    compared.BETWEEN.write(table, outputs, shown=between_columns)
