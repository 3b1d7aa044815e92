"""Rule score_agreement: scores computed from how often the models of a study agree on each set."""

import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.accuracy_prediction.output_files import OutputFiles
from matcheval.accuracy_prediction.scores import POOL_SCORES
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.scoring import SCORES, Views, score_pool
from matcheval.datasets.suites import Suite
from matcheval.execution.entry_points import run_script
from matcheval.io.tables import write_table


def main(
    *,
    suite: Suite,
    base: str,
    models: Sequence[str],
    single: Sequence[str],
    classes: Sequence[str] | Path,
    files: OutputFiles,
    rule: ClassRule,
    methods: Sequence[str],
    view_methods: Sequence[str],
    views: Views,
    scores: Path,
) -> None:
    """Write the scores of all models."""
    in_parts = {member.dataset for member in suite.members if member.counting}

    def read(name: str, model: str) -> Outputs:
        # Predicted classes are enough, except where the argmax is restricted to some of them.
        whole = not in_parts if name == base else name not in in_parts
        return files.read(name, model, wanted=() if whole else ("logits",))

    chosen, of_parts = ([POOL_SCORES[name] for name in names] for names in (methods, view_methods))
    table = score_pool(suite, base, models, classes, rule, chosen, read, single, of_parts, views)
    write_table(SCORES.from_frame(table), scores)
    logging.info("%s: %d sets, %d models", suite.name, len(suite.members), len(models))


if __name__ == "__main__":
    run_script(main, snakemake)
