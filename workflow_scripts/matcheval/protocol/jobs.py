"""What jobs run up to the tables, without imports that take longer than a small one's work.

Accuracies are tabulated by origin, so that every gap is original minus replication, whichever set
is the source of the matching.
"""

import logging
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.protocol.compared_models import PairFiles, match_by_all
from matcheval.protocol.comparisons import suspicions_in, suspicions_of, with_suspicions
from matcheval.protocol.schemas import (
    CALIBRATION,
    COMPARISON_RUNS,
    GAPS,
    MEAN_GAPS,
    MODEL_TABLE,
)

if TYPE_CHECKING:
    import pandas as pd


def match_predictions(*, files: PairFiles, runs: Sequence[Path]) -> None:
    """Match a batch of models by all matchings, and write their runs, a file per matching.

    Each prediction file is read once for all matchings: to read a file takes as long as some runs.
    """
    suspicious: list[tuple[str, str]] = []
    tables: dict[str, list[Any]] = {name: [] for name in files.matchings}
    for comparison in files.comparisons():
        suspicious += [(comparison.model, text) for text in suspicions_of(comparison)]
        for matched in match_by_all(comparison, files.matchings, files.seeds):
            tables[matched.name].append(matched.runs())
    for path, parts in zip(runs, tables.values(), strict=True):
        write_table(with_suspicions(join_runs(parts), suspicious), path)
    for model, text in suspicious:
        logging.warning("warning: %s, %s", model, text)
    logging.info("%d models, %d matchings", len(files.models), len(files.matchings))


def save_matched_pairs(*, files: PairFiles, pairs: Sequence[Path]) -> None:
    """Match models by all matchings, and write the matched pairs, a file per matching and model."""
    paths = dict(zip(product(files.matchings, files.models), pairs, strict=True))
    for comparison in files.comparisons():
        for matched in match_by_all(comparison, files.matchings, files.seeds):
            write_table(matched.pairs(), paths[matched.name, comparison.model])


def write_model_tables(
    *, matchings: Sequence[str], runs: Sequence[Path], outputs: Sequence[Path]
) -> None:
    """Average a pair's runs over seeds; write a table for each matching, a row per model."""
    n = len(matchings)
    shares = zip(matchings, _split_evenly(runs, n), _split_evenly(outputs, n), strict=True)
    for matching, run_files, paths in shares:
        read = [COMPARISON_RUNS.read(path) for path in run_files]
        table = with_suspicions(MODEL_TABLE.from_frame(tabulate_runs(read)), suspicions_in(read))
        write_table(table, *paths)
        logging.info("%s: %d models from %d batches", matching, table.num_rows, len(run_files))


def join_runs(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate models' runs on a pair; raise an error for one with other datapoints."""
    first, *others = tables
    for table in others:
        for origin in ("original", "replication"):
            key = f"{origin} datapoints".encode()
            metadata, expected = (t.schema.metadata or {} for t in (table, first))
            if metadata.get(key) != expected.get(key):
                raise InputError(
                    f"model '{table['model'][0]}' has other indices or labels on "
                    f"'{table[origin][0]}' than model '{first['model'][0]}'",
                    remedy="Predict the same datapoints with all models of a study",
                )
    return pa.concat_tables(tables)


def tabulate_runs(runs: Sequence[pa.Table]) -> "pd.DataFrame":
    """Average the runs of one pair and matching over seeds: a row per model, `MODEL_TABLE`."""
    import pandas as pd

    frame = join_runs(runs).to_pandas()
    for column in ("pair", "criterion", "epsilon", "source"):
        if len(set(frame[column])) != 1:
            values = sorted(frame[column].unique())
            raise InputError(f"the runs have different values: {values}", field=column)
    frame = _with_columns_by_origin(frame)
    groups = frame.groupby("model", sort=False)
    columns = {"n_seeds": groups.size()}
    for column in MODEL_TABLE.names:
        base, _, statistic = column.rpartition("_")
        if statistic in ("mean", "std", "sem"):
            columns[column] = groups[base].agg(statistic)
        elif column in frame and column != "model":
            columns[column] = groups[column].first()
    table = pd.DataFrame(columns).rename_axis("model").reset_index()[MODEL_TABLE.names]
    return table.sort_values(
        ["accuracy_original", "model"], ascending=[False, True], ignore_index=True
    )


def _with_columns_by_origin(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Add to runs, whose columns are of source and target, those of original and replication."""
    original_is_source = frame["source"] == frame["original"]
    frame = frame.copy()
    for quantity in ("n", "accuracy", "matched_accuracy", "confidence", "matched_confidence"):
        source, target = frame[f"{quantity}_source"], frame[f"{quantity}_target"]
        frame[f"{quantity}_original"] = source.where(original_is_source, target)
        frame[f"{quantity}_replication"] = target.where(original_is_source, source)
    for gap, accuracy in (("gap", "accuracy"), ("matched_gap", "matched_accuracy")):
        frame[gap] = frame[f"{accuracy}_original"] - frame[f"{accuracy}_replication"]
    return frame


def _split_evenly(files: Sequence[Path], n: int) -> list[Sequence[Path]]:
    """Split a list of files into `n` lists of equal length, in order."""
    size = len(files) // n
    return [files[start : start + size] for start in range(0, len(files), size)]


def write_gaps(
    *, files: PairFiles, tables: Sequence[Path], means: Sequence[Path],
    calibration: Sequence[Path], threads: int,
) -> None:  # fmt: skip
    """Estimate all models' gaps on a pair; write tables by model, of means and of calibration."""
    from matcheval.protocol.gaps import gaps_of_models

    comparisons, blocks = files.streamed()
    gaps = gaps_of_models(comparisons, files.matchings, files.seeds, blocks, threads=threads)
    level = files.pair.confidence
    files_by_matching = _split_evenly(tables, len(gaps.models))
    for frame, paths in zip(gaps.models.values(), files_by_matching, strict=True):
        write_table(GAPS.at_level(level).from_frame(frame), *paths)
    write_table(MEAN_GAPS.at_level(level).from_frame(gaps.means), *means)
    write_table(CALIBRATION.from_frame(gaps.calibration), *calibration)
    logging.info("%d models, %d matchings", len(files.models), len(gaps.models))
