"""Tables for readers: the plan, the results, and the layouts of two papers."""

import math
from collections.abc import Sequence

import pandas as pd

from matcheval.domain_generalization.schemas import AVERAGE, MEAN
from matcheval.domain_generalization.schemas import PER_RUN
from matcheval.domain_generalization.settings import ERM
from matcheval.io.text_tables import TextColumn, percent_cell, signed_cells

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
