"""Schemas of the tables of the model of difficulty, and their readable form."""

import pandas as pd
import pyarrow as pa

from matcheval.io.tables import MODEL, PAIR, Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn

_SKILLS = "standard deviations of a model's own noise"

DIFFICULTY = TableSchema(
    "model of difficulty",
    (
        *PAIR,
        Column("slope", pa.float64(), "1", "slope u of the probit fit"),
        Column("offset", pa.float64(), "standard deviations", "offset v of the probit fit"),
        Column("mu_original", pa.float64(), _SKILLS, "mean difficulty of the original; chosen"),
        Column("sigma_original", pa.float64(), _SKILLS, "their standard deviation; chosen"),
        Column("mu_replication", pa.float64(), _SKILLS, "mean difficulty of the replication"),
        Column("sigma_replication", pa.float64(), _SKILLS, "their standard deviation"),
        fraction("rms_error", "root mean square over models of new minus expected accuracy"),
        Column("n_models", pa.int32(), "models", "models with a finite skill: accuracy not 0 or 1"),
        Column("seed", pa.int64(), "1", "seed of the simulated sets"),
    ),
)

SKILLS = TableSchema(
    "skills of models",
    (
        MODEL,
        Column("skill", pa.float64(), _SKILLS, "from the accuracy on the original"),
        fraction("accuracy_original", "accuracy on the original"),
        fraction("accuracy_replication", "accuracy on the replication"),
        fraction(
            "expected_replication",
            "accuracy on the replication that the model of difficulty expects",
        ),
        fraction("simulated_original", "accuracy on a simulated set of the original's size"),
        fraction("simulated_replication", "accuracy on a simulated set of the replication's size"),
    ),
)


def difficulty_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the fitted difficulties for a readable table."""
    heads = {
        "slope": "u", "offset": "v", "mu_original": "μ original", "sigma_original": "σ original",
        "mu_replication": "μ new", "sigma_replication": "σ new",
    }  # fmt: skip
    numbers = [
        TextColumn(head, [f"{value:.3f}".replace("-", "−") for value in table[name]])
        for name, head in heads.items()
    ]
    return [
        TextColumn("Pair", table["pair"].tolist(), is_number=False),
        *numbers,
        TextColumn("RMS error (points)", [f"{100 * value:.2f}" for value in table["rms_error"]]),
        TextColumn("Models", [f"{n}" for n in table["n_models"]]),
    ]
