"""An analysis is added by one file and one line of the registry."""

import pytest
from engine import custom_study

LIBRARY = "workflow_scripts/matcheval"

# Of the form that needs no rules of its own: a table and a figure per dataset.
ERROR_RATE = '''
"""Error rates of the models on a dataset."""

import pandas as pd
from pydantic import Field

from matcheval.figures.style import COLUMN_WIDTH, new_figure
from matcheval.io.tables import MODEL, TableSchema, fraction
from matcheval.io.text_tables import lay_out
from matcheval.settings import Fraction
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings

SCHEMA = TableSchema("error rates", (MODEL, fraction("rate", "wrong over all")))


def tabulate(known, dataset, file, *, offset):
    rates = 1 - known.right.mean(axis=1) + offset
    return pd.DataFrame({"model": known.models, "rate": rates})


def text_columns(table):
    return lay_out(table, {"Rate (%)": "{rate:.1%}"})


def plot(table):
    figure = new_figure(COLUMN_WIDTH, COLUMN_WIDTH)
    figure.add_subplot().bar(table["model"], table["rate"])
    return figure


class ErrorRateSettings(DatasetTableSettings):
    """Datasets, and what is added to every rate."""

    offset: Fraction = Field(0.0, description="Added to every rate")


class ErrorRate(DatasetTableAnalysis):
    name = "error_rate"
    caption = "Error rates on {{ snakemake.wildcards.dataset }}."
    Settings = ErrorRateSettings
    has_figure = True

    @property
    def options(self):
        return {"offset": self.settings.offset}
'''

# Of a form of its own: it declares its rule.
PAIR_SIZE = '''
"""How many datapoints both sets of a pair have."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import lay_out, write_readable
from matcheval.predictions.files import read_predictions
from matcheval.settings import Names, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Rule

SCHEMA = TableSchema("sizes", (Column("n", pa.int64(), "datapoints", "of a set"),))


def count(*, original: Path, replication: Path, outputs: Sequence[Path]) -> None:
    table = pd.DataFrame({"n": [len(read_predictions(f)) for f in (original, replication)]})
    write_readable(table, SCHEMA, lambda t: lay_out(t, {"n": "{n:d}"}), outputs)


class PairSizeSettings(Settings):
    """Pairs."""

    pairs: Names = Field((), description="Pairs to count")


class PairSize(Analysis):
    name = "pair_size"
    Settings = PairSizeSettings

    def __init__(self, settings, study):
        super().__init__(settings, study)
        self.result = self.table("{pair}", "Sizes of a pair.", {"pair": "{pair}"})

    def check(self):
        for pair in self.settings.pairs:
            self.study.check_pair(pair, self.field("pairs"))

    @property
    def targets(self):
        return self.result.expand(pair=self.settings.pairs)

    @property
    def rules(self):
        def file(origin):
            model, pairs = next(iter(self.study.models)), self.study.pairs
            return lambda w: self.study.predictions_file(pairs[w.pair].datasets[origin], model)

        return [
            Rule(
                name="count_pair",
                run=count,
                input={origin: file(origin) for origin in ("original", "replication")},
                output={"outputs": self.result},
                message="Counting {wildcards.pair}",
            )
        ]
'''

TEXTS = (ERROR_RATE, PAIR_SIZE)
NAMES = ("error_rate", "pair_size")


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """The workflow with both analyses added, and a study of theirs, run."""
    workflow = custom_study(tmp_path_factory.mktemp("added") / "tree")
    before = '    "analyses.published_values'
    for name, title, text in zip(NAMES, ("ErrorRate", "PairSize"), TEXTS, strict=True):
        file = workflow.folder / LIBRARY / "analyses" / f"{name}.py"
        assert not file.exists()
        file.write_text(text.lstrip("\n"))
        workflow.edit(f"{LIBRARY}/registry.py", before, f'    "analyses.{name}.{title}",\n{before}')
    with (workflow.folder / "small.yaml").open("a") as study:
        study.write("error_rate: {datasets: [new], offset: 0.25}\npair_size: {pairs: [both]}\n")
    workflow.run(*NAMES)
    return workflow


def test_its_files_are_built(workflow):
    rates = workflow.table("mine/error_rate/new").set_index("model")["rate"]
    assert rates.to_dict() == {"a": 0.25, "b": 0.25}
    assert "25.0" in (workflow.results / "mine/error_rate/new.md").read_text()
    assert (workflow.results / "mine/figures/error_rate/new.png").stat().st_size
    assert workflow.table("mine/pair_size/both")["n"].tolist() == [60, 60]


@pytest.mark.parametrize(
    ("name", "old", "new", "repeated"),
    [
        ("error_rate", "+ offset", "+ 2 * offset", ["plot_error_rate", "tabulate_error_rate"]),
        ("error_rate", "add_subplot()", "add_subplot(1, 1, 1)", ["plot_error_rate"]),
        ("error_rate", '"""Error rates of the models', '"""Rates of the models', []),
        ("pair_size", "for f in (", "for f in 1 * (", ["count_pair"]),
    ],
)
def test_an_edit_repeats_what_it_concerns(copy, name, old, new, repeated):
    copy.edit(f"{LIBRARY}/analyses/{name}.py", old, new)
    assert sorted(set(copy.plan(*NAMES).jobs) - set(NAMES)) == repeated
