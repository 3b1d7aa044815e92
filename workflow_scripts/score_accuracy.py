"""Rule score_accuracy: the scores of one model, or of an ensemble, on all sets of a suite."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.accuracy_prediction.output_files import OutputFiles, average
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scores import SCORES as KNOWN
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs, joined
from matcheval.accuracy_prediction.scores.score import Sources
from matcheval.accuracy_prediction.scoring import (
    SCORES,
    ModelScorer,
    SuiteReader,
    Views,
    score_suite,
)
from matcheval.datasets.suites import Suite
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table


def main(
    *,
    scored: str,
    suite: Suite,
    base: str,
    reference: str | None,
    members: Sequence[str],
    files: OutputFiles,
    classes: Sequence[str] | Path,
    methods: Sequence[str],
    view_methods: Sequence[str],
    options: Mapping[str, Any],
    rule: ClassRule,
    views: Views,
    seeds: Sequence[int],
    scores: Path,
) -> None:
    """Write the scores."""

    def read(names: str) -> Outputs:
        return joined([read_one(name) for name in names.split("+")])

    def read_one(name: str) -> Outputs:
        found = {member: files.read(name, member) for member in members}
        return found[members[0]] if len(found) == 1 else average(found, scored, name)

    of_reference = read(reference) if reference else None
    reader = SuiteReader(read(base), classes, rule)
    scorers = [
        ModelScorer(
            Sources(reader.base, of_reference, options, seed),
            [ALL_SCORES[name] for name in methods],
            [KNOWN[name] for name in view_methods],
            views,
            is_ensemble=len(members) > 1,
        )
        for seed in seeds
    ]
    table = score_suite(scored, suite, base, reader, scorers, read)
    write_table(SCORES.from_frame(table), scores)
    logging.info("%s: %d sets, %d scores", scored, len(suite.members), table["score"].count())


if __name__ == "__main__":
    run_script(main, snakemake)
