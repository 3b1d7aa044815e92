"""Columns of the tables of domain generalisation."""

import math
from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.schemas import METHOD
from matcheval.domain_generalization.settings import ERM
from matcheval.io.columns import CONFIDENCE_LEVEL, fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, percent_cell, signed_cells

MEAN, AVERAGE = "mean", "average"  # the column of all sets; the block of all blocks of a design
DEFAULT, PER_RUN = "default", "_per_run"  # a selection; what names of selections per run end in

_SOURCES = Column("sources", pa.string(), "", "names of the training sets, joined by +")
_ALGORITHM = Column("algorithm", pa.string(), "", "algorithm of training")
_MODEL = Column("model", pa.string(), "", "name of the trained model")
_BLOCK = Column("block", pa.string(), "", "name of the block; `average` over those of a design")
_DESIGN = Column("design", pa.string(), "", "design that leaves one domain out; empty for others")
_N_SOURCES = Column("n_sources", pa.int64(), "sets", "number of sources")
_SELECTION = Column("selection", pa.string(), "", "how the group of hyper-parameters was selected")

PLAN = TableSchema(
    "plan of trainings",
    (
        _SOURCES,
        Column("purpose", pa.string(), "", "blocks that use it; `selection` if none tests it"),
        _ALGORITHM,
        Column("group", pa.int64(), "1", "group of hyper-parameters; 0 is the default"),
        Column("options", pa.string(), "", "options that differ from their defaults, as JSON"),
        Column("seed", pa.int64(), "1", "seed of the split and of the training"),
        Column("state", pa.string(), "", "trained, = ERM (the same training) or refused"),
        Column("model", pa.string(), "", "name of the model; empty if refused"),
        Column("note", pa.string(), "", "why it is refused"),
    ),
)
RUNS = TableSchema(
    "runs",
    (
        *PLAN.columns,
        Column("best_step", pa.int64(), "steps", "after which the weights were kept; 0: no run"),
        fraction("validation_accuracy", "then, mean over the sources' validation parts; or NaN"),
    ),
)
CURVES = TableSchema(
    "learning curves",
    (
        _MODEL,
        Column("step", pa.int64(), "steps", "updates so far"),
        Column("train_loss", pa.float64(), "1", "mean loss since the last evaluation"),
        fraction("train_accuracy", "accuracy since then, on augmented images"),
        fraction("validation_accuracy", "mean over the sources' validation parts"),
    ),
)
ACCURACIES = TableSchema(
    "accuracies on sets",
    (
        _MODEL,
        Column("dataset", pa.string(), "", "name of the set"),
        Column("n", pa.int64(), "datapoints", "size of the set"),
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted"),
        fraction("accuracy", "n_correct over n"),
    ),
)
RESULTS = TableSchema(
    "results",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("same_as_erm", pa.bool_(), "", "whether it is ERM, as there is one source"),
        Column("column", pa.string(), "", "group of sets, or set; `mean` of all sets"),
        Column("n_sets", pa.int64(), "sets", "sets that are averaged"),
        Column("groups", pa.string(), "", "selected groups, by seed, or of all blocks"),
        Column("n_runs", pa.int64(), "runs", "seeds"),
        fraction("mean", "mean accuracy over runs, of means over sets"),
        fraction("sd", "standard deviation over runs, with n - 1; NaN for one run"),
        fraction("low", "lower bound of Student's interval of the mean"),
        fraction("high", "upper bound"),
        fraction("gain", "mean over runs of the accuracy minus that of ERM of the same seed"),
        fraction("gain_low", "lower bound of Student's interval of the gain"),
        fraction("gain_high", "upper bound"),
        Column("p", pa.float64(), "1", "of the paired t test against ERM; NaN for ERM or one run"),
        Column("p_holm", pa.float64(), "1", "p adjusted for the number of algorithms (Holm 1979)"),
        CONFIDENCE_LEVEL,
    ),
)
GAINS = TableSchema(
    "gains by set",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("dataset", pa.string(), "", "name of the set"),
        Column("column", pa.string(), "", "group of the set"),
        fraction("accuracy", "mean over runs"),
        fraction("accuracy_erm", "that of ERM, selected likewise"),
        fraction("gain", "their difference"),
    ),
)
SPREAD = TableSchema(
    "spread",
    (
        _DESIGN,
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        Column(
            "n_algorithms",
            pa.int64(),
            "algorithms",
            "those that are not ERM or refused",
        ),
        fraction("sd_algorithms", "standard deviation over algorithms of their mean accuracies"),
        fraction("range_algorithms", "highest minus lowest of these"),
        fraction("sd_runs", "root mean square over algorithms of the deviations over runs"),
        fraction("erm", "mean accuracy of ERM"),
    ),
)
_COEFFICIENTS = (
    Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
)
IMAGE_COUNTS = TableSchema(
    "numbers of images and accuracies",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("n_columns", pa.int64(), "groups of sets", "that are compared"),
        Column("n_images", pa.int64(), "images", "in these"),
        *_COEFFICIENTS,
    ),
)
PREDICTABILITY = TableSchema(
    "accuracies predicted by scores",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        *METHOD,
        Column("n_sets", pa.int64(), "sets", "with a score"),
        Column("n_runs", pa.int64(), "runs", "seeds"),
        Column("spearman", pa.float64(), "1", "of score and accuracy over sets, mean over runs"),
        Column("spearman_low", pa.float64(), "1", "lower bound of Student's interval"),
        Column("spearman_high", pa.float64(), "1", "upper bound"),
        fraction("mae", "mean absolute error if each set is left out of a line, mean over runs"),
        fraction("mae_low", "lower bound of Student's interval"),
        fraction("mae_high", "upper bound"),
        fraction("mae_gain", "mean over runs of the error minus that of ERM of the same seed"),
        fraction("mae_gain_low", "lower bound of Student's interval of the difference"),
        fraction("mae_gain_high", "upper bound"),
        CONFIDENCE_LEVEL,
    ),
)
NEAR_FAR = TableSchema(
    "gains and distances",
    (
        _BLOCK,
        _N_SOURCES,
        _SELECTION,
        _ALGORITHM,
        Column("n_sets", pa.int64(), "sets", "that are compared"),
        *_COEFFICIENTS,
        Column("pearson", pa.float64(), "1", "correlation"),
    ),
)


# Names in tables and figures, as in the papers.
TITLES = {
    "erm": "ERM", "sd": "SD", "vrex": "VREx", "group_dro": "GroupDRO", "coral": "CORAL",
    "fishr": "Fishr", "eqrm": "EQRM", "sagnet": "SagNet", "selfreg": "SelfReg", "rcs": "RCS",
    "vne": "VNE",
}  # fmt: skip


def plan_columns(plan: pd.DataFrame) -> list[TextColumn]:
    """Lay out a plan with a row per group of hyper-parameters."""
    keys = ["sources", "purpose", "algorithm", "group", "options", "state"]
    rows = plan.groupby(keys, sort=False)["seed"].count().reset_index()
    return [
        *(
            TextColumn(key.capitalize(), rows[key].tolist(), is_number=False)
            for key in ("sources", "purpose")
        ),
        TextColumn("Algorithm", [TITLES[name] for name in rows["algorithm"]], is_number=False),
        TextColumn("Group", [str(number) for number in rows["group"]]),
        TextColumn("Options", [o if o != "{}" else "" for o in rows["options"]], is_number=False),
        TextColumn("State", rows["state"].tolist(), is_number=False),
        TextColumn("Seeds", [str(n) for n in rows["seed"]]),
    ]


def result_columns(results: pd.DataFrame) -> list[TextColumn]:
    """Lay out the means over all sets, and over all blocks of a design, compared with ERM."""
    rows = results[results["column"] == MEAN]
    rows = rows[(rows["design"] == "") | (rows["block"] == AVERAGE)]
    rows = rows[~rows["selection"].str.endswith(PER_RUN)]
    level = f"{100 * rows['confidence'].iloc[0]:g} % CI"
    is_erm = rows["algorithm"] == ERM
    gains = signed_cells(rows["gain"].tolist(), 2)
    lows, highs = (signed_cells(rows[name].tolist(), 2) for name in ("gain_low", "gain_high"))
    cells = [
        "" if erm else "= ERM" if same else f"{gain} [{low}, {high}]"
        for erm, same, gain, low, high in zip(
            is_erm, rows["same_as_erm"], gains, lows, highs, strict=True
        )
    ]
    blocks = [
        f"{design}: {block}" if design else block
        for design, block in zip(rows["design"], rows["block"], strict=True)
    ]
    return [
        TextColumn("Block", blocks, is_number=False),
        TextColumn("Selection", selection_names(rows), is_number=False),
        TextColumn("Algorithm", [TITLES[name] for name in rows["algorithm"]], is_number=False),
        TextColumn("Groups", rows["groups"].tolist(), is_number=False),
        TextColumn("Runs", [str(n) for n in rows["n_runs"]]),
        TextColumn("Accuracy (%)", mean_and_sd(rows)),
        TextColumn(f"Gain over ERM (points) [{level}]", cells),
        TextColumn("p", [_p(value) for value in rows["p"]]),
        TextColumn("p (Holm)", [_p(value) for value in rows["p_holm"]]),
    ]


def by_group(results: pd.DataFrame) -> list[TextColumn]:
    """Lay out as Table 3 of Sun et al. (2024): blocks of sources, a column per group of sets."""
    rows = results[results["column"] == MEAN]
    columns = [name for name in dict.fromkeys(results["column"]) if name != MEAN]
    values = results.set_index(["block", "algorithm", "column"])["mean"]
    sources = [f"{block} ({n})" for block, n in zip(rows["block"], rows["n_sources"], strict=True)]
    return [
        TextColumn("Block (sources)", sources, is_number=False),
        TextColumn("Algorithm", _marked(rows), is_number=False),
        *(
            TextColumn(
                name,
                [
                    percent_cell(values.get((block, algorithm, name), math.nan))
                    for block, algorithm in zip(rows["block"], rows["algorithm"], strict=True)
                ],
            )
            for name in columns
        ),
        TextColumn("Mean ± SD", mean_and_sd(rows)),
    ]


def by_domain(results: pd.DataFrame) -> list[TextColumn]:
    """Lay out as DomainBed: a row per algorithm, a column per target domain, and the average."""
    rows = results[results["column"] == MEAN]
    average = rows[rows["block"] == AVERAGE]
    columns = [TextColumn("Algorithm", _marked(average), is_number=False)]
    for block, each in rows.groupby("block", sort=False):
        of_block = each.set_index("algorithm").reindex(average["algorithm"])
        columns.append(TextColumn(str(block), mean_and_sd(of_block)))
    return columns


def mean_and_sd(rows: pd.DataFrame) -> list[str]:
    """Format means with standard deviations."""
    return [
        percent_cell(mean) + ("" if pd.isna(sd) else f" ± {100 * sd:.1f}")
        for mean, sd in zip(rows["mean"], rows["sd"], strict=True)
    ]


def _marked(rows: pd.DataFrame) -> list[str]:
    """Names of algorithms, with a mark where one is ERM."""
    return [
        TITLES[name] + (" (= ERM)" if same else "")
        for name, same in zip(rows["algorithm"], rows["same_as_erm"], strict=True)
    ]


def selection_names(rows: pd.DataFrame) -> Sequence[str]:
    """Return the names of selections for readers."""
    return [name.replace("_", " ") for name in rows["selection"]]


def _p(value: float) -> str:
    return "" if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
