"""Texts of the figure of matched accuracies: names, sizes, title and note.

Tables have the columns of `schemas.MODEL_TABLE`, of one pair and matching.
"""

import pandas as pd

from matcheval.figures.many_models import FEW_MODELS
from matcheval.figures.style import count, shortened
from matcheval.io.text_tables import counted

RUNNING_MEDIAN = 15  # models in the window
_MAX_SET_CHARACTERS = 20


def is_named(table: pd.DataFrame) -> bool:
    """Say whether models are few enough to be named, and joined by lines."""
    return len(table) <= FEW_MODELS


def target_of(table: pd.DataFrame) -> str:
    """Return the origin of the target: `original` or `replication`."""
    first = table.iloc[0]
    return "replication" if first["source"] == first["original"] else "original"


def role_of(table: pd.DataFrame, origin: str) -> str:
    """Return the role of a set: `source` or `target`."""
    return "target" if origin == target_of(table) else "source"


def set_name(table: pd.DataFrame, origin: str) -> str:
    """Return the name of a set, shortened."""
    return shortened(str(table[origin].iloc[0]), _MAX_SET_CHARACTERS)


def matched_counts(table: pd.DataFrame) -> str:
    """Format the size of a matched subset: mean over seeds, range over models."""
    matched = table[f"n_{target_of(table)}"] * (1 - table["fraction_unmatched_mean"])
    low, high = count(matched.min()), count(matched.max())
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def title_of(table: pd.DataFrame, matching: str) -> str:
    """Return the title: pair, matching, ε, and numbers of models and seeds."""
    first = table.iloc[0]
    models = counted(len(table), "model")
    return f"{first['pair']}, {matching}\nε = {first['epsilon']:g}, {models}, {_seeds(table)}"


def _seeds(table: pd.DataFrame) -> str:
    least, most = int(table["n_seeds"].min()), int(table["n_seeds"].max())
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} seed{'s' * (most != 1)}"


def note_of(table: pd.DataFrame) -> str:
    """Explain points, lines and faint bars, and name models without matched pairs."""
    notes = []
    if not is_named(table):
        notes.append(
            f"Points: models. Lines: running medians of {RUNNING_MEDIAN} models "
            "(of fewer at both ends)."
        )
    if table["n_seeds"].max() > 1:
        others = " of accuracies and shares" if "matched_gap_low" in table else ""
        notes.append(
            f"Faint bars{others}: ±1 SD over the {_seeds(table)} of the matching; they do not "
            "include the sampling error of the test sets."
        )
    undefined = table.loc[table["matched_gap_mean"].isna(), "model"].tolist()
    if undefined:
        named = ", ".join(map(shortened, undefined[:3])) + (", …" if len(undefined) > 3 else "")
        notes.append(
            f"No target was matched for {len(undefined)} of the {len(table)} models ({named}): "
            "their matched accuracies are undefined and left out."
        )
    return "\n".join(notes)
