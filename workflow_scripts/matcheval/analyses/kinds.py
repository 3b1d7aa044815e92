"""The follow-ups that tabulate what models get right on one dataset: a line each.

To add one: a function from what is right to a table, its schema, its columns for reading; a line
in `KINDS`; its name in `settings.ON_DATASETS`, in `config.yaml` and in the configuration's schema.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from matcheval.analyses import columns as tables
from matcheval.analyses import schemas
from matcheval.analyses.class_balanced.tables import balanced_accuracies
from matcheval.analyses.groups.tables import accuracies_by_group, read_groups
from matcheval.analyses.hard_images.tables import hard_images
from matcheval.analyses.near_duplicates.reviewed import read_reviewed
from matcheval.analyses.near_duplicates.schemas import DUPLICATE_ACCURACIES
from matcheval.analyses.near_duplicates.tables import duplicate_accuracies
from matcheval.analyses.selection_frequency.tables import accuracies_by_frequency, read_counts
from matcheval.analyses.shared_errors.tables import shared_errors
from matcheval.io.tables import TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.predictions.correctness import Correctness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = pd.DataFrame


@dataclass(frozen=True)
class FollowUp:
    """How a follow-up is made.

    Attributes
    ----------
    schema : TableSchema
        Of its table.
    columns : callable
        Gives the table's columns for reading.
    tabulate : callable
        Makes the table, of what is right, the dataset's name, the user's own file (empty if there
        is none), and its options by name (see `settings.FollowUps.options`).
    draw : callable or None
        Draws the table.
    """

    schema: TableSchema
    columns: Callable[[Table], list[TextColumn]]
    tabulate: Callable[..., Table]
    draw: "Callable[[Table], Figure] | None" = None


def _duplicates(known: Correctness, dataset: str, file: str, confidence: float) -> Table:
    rows = known.rows_of(read_reviewed(file), file=file)
    right = dict(zip(known.models, known.right, strict=True))
    return duplicate_accuracies(right, rows.tolist(), dataset, confidence)


def _hard_images(known: Correctness, dataset: str, file: str, share: float) -> Table:
    return hard_images(known, dataset, share)


def _balanced(known: Correctness, dataset: str, file: str, seed: int, confidence: float) -> Table:
    return balanced_accuracies(known, dataset, seed, confidence)


def _by_frequency(known: Correctness, dataset: str, file: str, confidence: float) -> Table:
    counts = read_counts(file)
    return accuracies_by_frequency(known, dataset, counts, confidence=confidence, file=file)


def _by_group(known: Correctness, dataset: str, file: str, confidence: float) -> Table:
    return accuracies_by_group(known, dataset, read_groups(file), confidence, file)


def _shared_errors(known: Correctness, dataset: str, file: str) -> Table:
    return shared_errors(known, dataset)


def _draw_by_frequency(table: Table) -> "Figure":
    from matcheval.analyses.selection_frequency.figures import plot_by_frequency

    return plot_by_frequency(table)


def _draw_shared_errors(table: Table) -> "Figure":
    from matcheval.analyses.shared_errors.figures import plot_shared_errors

    return plot_shared_errors(table)


KINDS: Mapping[str, FollowUp] = {
    "near_duplicates": FollowUp(DUPLICATE_ACCURACIES, tables.duplicates_columns, _duplicates),
    "hard_images": FollowUp(schemas.HARD_IMAGES, tables.hard_columns, _hard_images),
    "balanced": FollowUp(schemas.BALANCED, tables.balanced_columns, _balanced),
    "by_frequency": FollowUp(
        schemas.BY_FREQUENCY, tables.frequency_columns, _by_frequency, _draw_by_frequency
    ),
    "groups": FollowUp(schemas.BY_GROUP, tables.group_columns, _by_group),
    "shared_errors": FollowUp(
        schemas.SHARED_ERRORS, tables.shared_columns, _shared_errors, _draw_shared_errors
    ),
}


def tabulate(
    kind: str, known: Correctness, dataset: str, file: str, options: Mapping[str, Any]
) -> Table:  # fmt: skip
    """Make the table of a follow-up, of schema `KINDS[kind].schema`."""
    return KINDS[kind].tabulate(known, dataset, file, **options)
