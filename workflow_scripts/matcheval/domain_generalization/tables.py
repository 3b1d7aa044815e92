"""Tables of domain generalisation: their columns, and their layouts for readers."""

import logging
import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.predicting import titles
from matcheval.accuracy_prediction.scoring import METHOD
from matcheval.accuracy_prediction.tables import COEFFICIENTS
from matcheval.datasets.folders import read_dataset
from matcheval.domain_generalization.plan import ERM, REFUSED, TRAINED, Block, check_prepared_sets
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, estimate, fraction, text
from matcheval.io.text_tables import TextColumn, lay_out, percent_cell, signed_cells, with_interval

MEAN, AVERAGE = "mean", "average"  # the column of all sets; the block of all blocks of a design
DEFAULT, PER_RUN = "default", "_per_run"  # a selection; what names of selections per run end in

# Names in tables and figures, as in the papers.
TITLES = {
    "erm": "ERM", "sd": "SD", "vrex": "VREx", "group_dro": "GroupDRO", "coral": "CORAL",
    "fishr": "Fishr", "eqrm": "EQRM", "sagnet": "SagNet", "selfreg": "SelfReg", "rcs": "RCS",
    "vne": "VNE",
}  # fmt: skip

_SOURCES = text("sources", "names of the training sets, joined by +")
_ALGORITHM = text("algorithm", "algorithm of training", label=TITLES.get)
_MODEL = text("model", "name of the trained model")
_DESIGN = text("design", "design that leaves one domain out; empty for others")
_BLOCK = (
    text("block", "name of the block; `average` over those of a design"),
    Column("n_sources", pa.int64(), "sets", "number of sources"),
    text(
        "selection", "how the group of hyper-parameters was selected",
        label=lambda selection: selection.replace("_", " "),
    ),
)  # fmt: skip
BLOCK_COLUMNS = [column.name for column in (_DESIGN, *_BLOCK)]


def _count_seeds(plan: pd.DataFrame) -> pd.DataFrame:
    """Summarise the plan for readers: a row per group of hyper-parameters, with seeds counted."""
    keys = ["sources", "purpose", "algorithm", "group", "options", "state"]
    rows = plan.groupby(keys, sort=False)["seed"].count().reset_index()
    return rows.assign(options=rows["options"].replace("{}", ""))


PLAN = TableSchema(
    "plan of trainings",
    _SOURCES,
    text("purpose", "blocks that use it; `selection` if none tests it"),
    _ALGORITHM,
    Column("group", pa.int64(), "1", "group of hyper-parameters; 0 is the default"),
    text("options", "options that differ from their defaults, as JSON"),
    Column("seed", pa.int64(), "1", "seed of the split and of the training"),
    text("state", "trained, = ERM (the same training) or refused"),
    text("model", "name of the model; empty if refused"),
    text("note", "why it is refused"),
    summary=_count_seeds,
    shown={
        "Sources": "{sources}", "Purpose": "{purpose}", "Algorithm": "{algorithm}",
        "Group": "{group:d}", "Options": "{options}", "State": "{state}", "Seeds": "{seed:d}",
    },
)  # fmt: skip
RUNS = TableSchema(
    "runs",
    *PLAN.columns,
    Column("best_step", pa.int64(), "steps", "after which the weights were kept; 0: no run"),
    fraction("validation_accuracy", "then, mean over the sources' validation parts; or NaN"),
)
CURVES = TableSchema(
    "learning curves",
    _MODEL,
    Column("step", pa.int64(), "steps", "updates so far"),
    Column("train_loss", pa.float64(), "1", "mean loss since the last evaluation"),
    fraction("train_accuracy", "accuracy since then, on augmented images"),
    fraction("validation_accuracy", "mean over the sources' validation parts"),
)
ACCURACIES = TableSchema(
    "accuracies on sets",
    _MODEL,
    text("dataset", "name of the set"),
    Column("n", pa.int64(), "datapoints", "size of the set"),
    Column("n_correct", pa.int64(), "datapoints", "correctly predicted"),
    fraction("accuracy", "n_correct over n"),
)


def overall_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return only the rows with means over all sets and, for designs, over all blocks."""
    rows = results[results["column"] == MEAN]
    return rows[(rows["design"] == "") | (rows["block"] == AVERAGE)]


def format_mean_and_sd(rows: pd.DataFrame) -> list[str]:
    """Format each row's mean accuracy with its standard deviation, in percent."""
    return [
        percent_cell(mean) + ("" if pd.isna(sd) else f" ± {100 * sd:.1f}")
        for mean, sd in zip(rows["mean"], rows["sd"], strict=True)
    ]


def _format_p(value: float) -> str:
    return "" if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _format_results(results: pd.DataFrame) -> pd.DataFrame:
    """Format the overall rows of results for readers: accuracies, gains over ERM and p-values."""
    rows = overall_rows(results)
    ends = (signed_cells(rows[name].tolist(), 2) for name in ("gain", "gain_low", "gain_high"))
    gains = [
        "" if name == ERM else "= ERM" if same else f"{gain} [{low}, {high}]"
        for name, same, gain, low, high in zip(
            rows["algorithm"], rows["same_as_erm"], *ends, strict=True
        )
    ]
    return rows.assign(
        block=rows["block"].where(rows["design"] == "", rows["design"] + ": " + rows["block"]),
        accuracy=format_mean_and_sd(rows), gain=gains, p=rows["p"].map(_format_p),
        p_holm=rows["p_holm"].map(_format_p),
    )  # fmt: skip


RESULTS = TableSchema(
    "results",
    _DESIGN,
    *_BLOCK,
    _ALGORITHM,
    Column("same_as_erm", pa.bool_(), "", "whether it is ERM, as there is one source"),
    text("column", "group of sets, or set; `mean` of all sets"),
    Column("n_sets", pa.int64(), "sets", "sets that are averaged"),
    text("groups", "selected groups, by seed, or of all blocks"),
    Column("n_runs", pa.int64(), "runs", "seeds"),
    fraction("mean", "mean accuracy over runs, of means over sets"),
    fraction("sd", "standard deviation over runs, with n - 1; NaN for one run"),
    fraction("low", "lower bound of Student's interval of the mean"),
    fraction("high", "upper bound"),
    *estimate("gain", "mean over runs of the accuracy minus that of ERM of the same seed"),
    Column("p", pa.float64(), "1", "of the paired t test against ERM; NaN for ERM or one run"),
    Column("p_holm", pa.float64(), "1", "p adjusted for the number of algorithms (Holm 1979)"),
    CONFIDENCE_LEVEL,
    summary=_format_results,
    shown={
        "Block": "{block}", "Selection": "{selection}", "Algorithm": "{algorithm}",
        "Groups": "{groups}", "Runs": "{n_runs:d}", "Accuracy (%)": "{accuracy:s}",
        "Gain over ERM (points) [{level} CI]": "{gain:s}", "p": "{p:s}", "p (Holm)": "{p_holm:s}",
    },
)  # fmt: skip
GAINS = TableSchema(
    "gains by set",
    _DESIGN,
    *_BLOCK,
    _ALGORITHM,
    text("dataset", "name of the set"),
    text("column", "group of the set"),
    fraction("accuracy", "mean over runs"),
    fraction("accuracy_erm", "that of ERM, selected likewise"),
    fraction("gain", "their difference"),
)
SPREAD = TableSchema(
    "spread",
    _DESIGN,
    *_BLOCK,
    Column("n_algorithms", pa.int64(), "algorithms", "those that are not ERM or refused"),
    fraction("sd_algorithms", "standard deviation over algorithms of their mean accuracies"),
    fraction("range_algorithms", "highest minus lowest of these"),
    fraction("sd_runs", "root mean square over algorithms of the deviations over runs"),
    fraction("erm", "mean accuracy of ERM"),
)
IMAGE_COUNTS = TableSchema(
    "numbers of images and accuracies",
    *_BLOCK,
    _ALGORITHM,
    Column("n_columns", pa.int64(), "groups of sets", "that are compared"),
    Column("n_images", pa.int64(), "images", "in these"),
    *COEFFICIENTS,
)


def _format_predictability(table: pd.DataFrame) -> pd.DataFrame:
    """Name the methods for readers, and format error differences, which ERM itself lacks."""
    gains = lay_out(table, {"": with_interval("mae_gain", "+.2%")})[0].cells
    is_erm = table["algorithm"] == ERM
    return table.assign(method=titles(table), gain=pd.Series(gains, table.index).mask(is_erm, ""))


PREDICTABILITY = TableSchema(
    "accuracies predicted by scores",
    *_BLOCK,
    _ALGORITHM,
    *METHOD,
    Column("n_sets", pa.int64(), "sets", "with a score"),
    Column("n_runs", pa.int64(), "runs", "seeds"),
    Column("spearman", pa.float64(), "1", "of score and accuracy over sets, mean over runs"),
    Column("spearman_low", pa.float64(), "1", "lower bound of Student's interval"),
    Column("spearman_high", pa.float64(), "1", "upper bound"),
    *estimate("mae", "mean absolute error if each set is left out of a line, mean over runs"),
    *estimate("mae_gain", "mean over runs of the error minus that of ERM of the same seed"),
    CONFIDENCE_LEVEL,
    summary=_format_predictability,
    shown={
        "Block": "{block}", "Selection": "{selection}", "Algorithm": "{algorithm}",
        "Method": "{method}", "Sets": "{n_sets:d}", "Runs": "{n_runs:d}",
        "Spearman ρ [{level} CI]": with_interval("spearman", "z.2f"),
        "Error, each set left out (points) [{level} CI]": with_interval("mae", ".2%"),
        "Error minus ERM's (points) [{level} CI]": "{gain:s}",
    },
)  # fmt: skip
NEAR_FAR = TableSchema(
    "gains and distances",
    *_BLOCK,
    _ALGORITHM,
    Column("n_sets", pa.int64(), "sets", "that are compared"),
    *COEFFICIENTS,
    Column("pearson", pa.float64(), "1", "correlation"),
)


def plan_note(plan: pd.DataFrame) -> str:
    """Say how many models are trained and what is refused and why, for a note below the plan."""
    trained = plan.loc[plan["state"] == TRAINED, "model"].nunique()
    refused = plan[plan["state"] == REFUSED].groupby("algorithm")["note"].first()
    sentences = [
        f"{name} is not trained on a single set: {note}." for name, note in refused.items()
    ]
    return " ".join([f"{trained} trainings.", *sentences])


def select_results(results: pd.DataFrame, selection: str, design: str) -> pd.DataFrame:
    """Return the results of one selection and one design, which is empty for plain blocks."""
    return results[(results["selection"] == selection) & (results["design"] == design)]


def lay_out_by_group(results: pd.DataFrame) -> list[TextColumn]:
    """Lay out results as Table 3 of Sun et al. (2024): rows of blocks, columns of groups."""
    rows = results[results["column"] == MEAN]
    values = results.set_index(["block", "algorithm", "column"])["mean"]
    keys = list(zip(rows["block"], rows["algorithm"], strict=True))
    names = [name for name in dict.fromkeys(results["column"]) if name != MEAN]
    return [
        *lay_out(rows, {"Block (sources)": "{block} ({n_sources})"}),
        _algorithm_column(rows),
        *(
            TextColumn(name, [percent_cell(values.get((*key, name), math.nan)) for key in keys])
            for name in names
        ),
        TextColumn("Mean ± SD", format_mean_and_sd(rows)),
    ]


def lay_out_by_domain(results: pd.DataFrame) -> list[TextColumn]:
    """Lay out results as in DomainBed: a row per algorithm, columns of domains and average."""
    rows = results[results["column"] == MEAN]
    average = rows[rows["block"] == AVERAGE]
    columns = [_algorithm_column(average)]
    for block, block_rows in rows.groupby("block", sort=False):
        block_rows = block_rows.set_index("algorithm").reindex(average["algorithm"])
        columns.append(TextColumn(str(block), format_mean_and_sd(block_rows)))
    return columns


def _algorithm_column(rows: pd.DataFrame) -> TextColumn:
    """Return the column of algorithms' names, marked where training is the same as ERM."""
    marks = rows["same_as_erm"].map({True: " (= ERM)", False: ""})
    return TextColumn("Algorithm", list(rows["algorithm"].map(TITLES) + marks), is_number=False)


def write_plan(
    *, blocks: Sequence[Block], plan: Sequence[Mapping[str, Any]], folders: Mapping[str, Path],
    batch_size: int, parts: int, outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Check the prepared sources and targets, and write the table of planned trainings."""
    sets = {name: read_dataset(folder, verify=False) for name, folder in folders.items()}
    check_prepared_sets(blocks, sets, batch_size, parts)
    table = pd.DataFrame(plan, columns=PLAN.names)
    PLAN.write(table, outputs, [plan_note(table)])
    logging.info("%d sets, %s", len(sets), plan_note(table))


def lay_out_results(
    *, designs: Sequence[str], selections: Sequence[str], results: Path, outputs: Sequence[Path]
) -> None:  # fmt: skip
    """Write the results of each design and selection in the layout of a paper's table."""
    table, places = RESULTS.read(results).to_pandas(), product(designs, selections)
    for (design, selection), *files in zip(places, outputs[::2], outputs[1::2], strict=True):
        rows = select_results(table, selection, design)
        RESULTS.write(rows, files, shown=lay_out_by_domain if design else lay_out_by_group)
        logging.info("%s %s: %d results", design, selection, len(rows))
