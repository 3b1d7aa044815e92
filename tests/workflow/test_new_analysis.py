"""An analysis is added by its room, its rule file and caption, and one line of the registry."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from engine import Workflow, environment, own_study

LIBRARY = "workflow_scripts/matcheval"
REGISTRY = f"{LIBRARY}/registry.py"

# Of the form that needs no rules of its own: a table and a figure per dataset.
ERROR_RATE = {
    f"{LIBRARY}/analyses/error_rate/__init__.py": '"""Error rates."""\n',
    f"{LIBRARY}/analyses/error_rate/analysis.py": '''
"""Error rates of the models on a dataset."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Fraction
from matcheval.study.dataset_tables import DatasetTableAnalysis, DatasetTableSettings


class ErrorRateSettings(DatasetTableSettings):
    """Datasets, and what is added to every rate."""

    offset: Fraction = Field(0.0, description="Added to every rate")


class ErrorRate(DatasetTableAnalysis):
    """Tabulates error rates."""

    name: ClassVar[str] = "error_rate"
    Settings: ClassVar[type[ErrorRateSettings]] = ErrorRateSettings
    has_figure: ClassVar[bool] = True

    @property
    def options(self) -> dict[str, Any]:
        """The offset."""
        return {"offset": self.settings.offset}
''',
    f"{LIBRARY}/analyses/error_rate/tables.py": '''
"""The table of error rates."""

import pandas as pd

from matcheval.io.tables import MODEL, fraction
from matcheval.io.tables import TableSchema
from matcheval.io.text_tables import TextColumn, percent_cell

SCHEMA = TableSchema("error rates", (MODEL, fraction("rate", "wrong over all")))


def tabulate(known, dataset, file, *, offset):
    """Tabulate."""
    rates = 1 - known.right.mean(axis=1) + offset
    return pd.DataFrame({"model": known.models, "rate": rates})


def text_columns(table):
    """For reading."""
    return [TextColumn("Rate (%)", [percent_cell(rate) for rate in table["rate"]])]
''',
    f"{LIBRARY}/analyses/error_rate/figures.py": '''
"""The figure of error rates."""

from matcheval.figures.style import COLUMN_WIDTH, new_figure


def plot(table):
    """Draw bars."""
    figure = new_figure(COLUMN_WIDTH, COLUMN_WIDTH)
    figure.add_subplot().bar(table["model"], table["rate"])
    return figure
''',
    "rules/captions/error_rate.rst": "Error rates on {{ snakemake.wildcards.dataset }}.\n",
}

# Of a form of its own: a rule file and a script.
PAIR_SIZE = {
    f"{LIBRARY}/analyses/pair_size/__init__.py": '"""Sizes of pairs."""\n',
    f"{LIBRARY}/analyses/pair_size/analysis.py": '''
"""How many datapoints both sets of a pair have."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Names, Settings
from matcheval.study.analysis import Analysis


class PairSizeSettings(Settings):
    """Pairs."""

    pairs: Names = Field((), description="Pairs to count")


class PairSize(Analysis):
    """Counts datapoints."""

    name: ClassVar[str] = "pair_size"
    Settings: ClassVar[type[PairSizeSettings]] = PairSizeSettings

    def __init__(self, settings, study) -> None:
        super().__init__(settings, study)
        self.result = self.table("{pair}", "pair_size", {"pair": "{pair}"})

    def check(self) -> None:
        """Check pairs."""
        for pair in self.settings.pairs:
            self.study.check_pair(pair, self.field("pairs"))

    @property
    def targets(self) -> list[str]:
        """A table per pair."""
        return self.result.expand(pair=self.settings.pairs)

    def inputs(self, wildcards) -> dict[str, Any]:
        """The first model's predictions on both sets."""
        model = next(iter(self.study.models))
        datasets = self.study.pairs[wildcards.pair].datasets
        return {o: self.study.predictions_file(name, model) for o, name in datasets.items()}
''',
    "workflow_scripts/count_pair.py": '''
"""Rule count_pair."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from matcheval.execution.entry_points import run_script
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, write_readable
from matcheval.predictions.files import read_predictions

SCHEMA = TableSchema("sizes", (Column("n", pa.int64(), "datapoints", "of a set"),))


def main(*, original: Path, replication: Path, outputs: Sequence[Path]) -> None:
    """Write the table."""
    table = pd.DataFrame({"n": [len(read_predictions(f)) for f in (original, replication)]})
    write_readable(table, SCHEMA, lambda t: [TextColumn("n", [str(n) for n in t["n"]])], outputs)


if __name__ == "__main__":
    run_script(main, snakemake)
''',
    "rules/pair_size.smk": """
PAIR_SIZE = STUDY.analyses["pair_size"]


rule count_pair:
    input:
        unpack(PAIR_SIZE.inputs),
    output:
        outputs=in_report(PAIR_SIZE.result),
    log:
        f"{OWN}/logs/count_pair/{{pair}}.log",
    resources:
        **REQUESTS.resources("count_pair"),
    params:
        code=digest("count_pair"),
    message:
        "Counting {wildcards.pair}"
    script:
        "../workflow_scripts/count_pair.py"
""",
    "rules/captions/pair_size.rst": "Sizes of {{ snakemake.wildcards.pair }}.\n",
}

SCHEMA_KEYS = """
from matcheval.registry import ANALYSES
from matcheval.study.schema import json_schema
import json
print(json.dumps(sorted(json_schema(ANALYSES)["properties"])))
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """The workflow with both analyses added, and a study of theirs."""
    workflow = own_study(tmp_path_factory.mktemp("added") / "tree")
    for path, text in (ERROR_RATE | PAIR_SIZE).items():
        file = workflow.folder / path
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.lstrip("\n"))
    workflow.edit(
        REGISTRY,
        '    "analyses.published_values.analysis.PublishedValues",\n',
        '    "analyses.error_rate.analysis.ErrorRate",\n'
        '    "analyses.pair_size.analysis.PairSize",\n'
        '    "analyses.published_values.analysis.PublishedValues",\n',
    )
    with (workflow.folder / "mine.yaml").open("a") as study:
        study.write("error_rate: {datasets: [new], offset: 0.25}\npair_size: {pairs: [both]}\n")
    return workflow


def run(workflow: Workflow, *arguments, check=True):
    return workflow.run(*arguments, "--configfile", "mine.yaml", check=check)


def test_its_files_are_built(extended):
    run(extended, "error_rate", "pair_size")
    results = extended.folder / "results" / "mine"
    rates = pd.read_parquet(results / "error_rate" / "new.parquet").set_index("model")["rate"]
    assert rates.to_dict() == {"a": 0.25, "b": 0.25}
    assert "25.0" in (results / "error_rate" / "new.md").read_text()
    assert (results / "figures" / "error_rate" / "new.png").stat().st_size
    assert pd.read_parquet(results / "pair_size" / "both.parquet")["n"].tolist() == [60, 60]


def test_an_edit_of_its_room_rebuilds_its_tables_alone(extended):
    run(extended, "error_rate", "pair_size")
    extended.edit(f"{LIBRARY}/analyses/error_rate/tables.py", "+ offset", "+ 2 * offset")
    planned = extended.plan("error_rate", "pair_size", "--configfile", "mine.yaml").jobs
    assert planned == {"tabulate_error_rate": 1, "plot_error_rate": 1, "error_rate": 1}


def test_its_settings_are_checked(extended):
    failed = run(extended, "--dry-run", "--config", "error_rate={ofset: 1}", check=False)
    output = failed.stdout + failed.stderr
    assert "'error_rate': unknown key 'ofset'. Did you mean 'offset'?" in output
    failed = run(extended, "--dry-run", "--config", "pair_size={pairs: [bth]}", check=False)
    assert "'pair_size.pairs': unknown pair 'bth'" in failed.stdout + failed.stderr


def test_the_schema_has_its_block(extended):
    keys = subprocess.run(
        [sys.executable, "-c", SCHEMA_KEYS], cwd=extended.folder / "workflow_scripts",
        env=environment() | {"PYTHONPATH": "."}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert {"error_rate", "pair_size"} < set(json.loads(keys))
