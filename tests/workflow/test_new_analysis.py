"""An analysis is added by a file and a line of the registry, a figure by a rule and a script."""

import re

import pytest
from engine import ROOT, custom_study

LIBRARY = "workflow_scripts/matcheval"

ERROR_RATE = '''
"""Error rates of the models on a dataset."""

import pandas as pd
from pydantic import Field

from matcheval.figures.style import COLUMN_WIDTH, new_figure
from matcheval.io.tables import MODEL, TableSchema, fraction
from matcheval.settings import Fraction
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings

SCHEMA = TableSchema(
    "error rates", (MODEL, fraction("rate", "wrong over all")), {"Rate (%)": "{rate:.1%}"}
)


def tabulate(known, dataset, file, *, offset):
    rates = 1 - known.right.mean(axis=1) + offset
    return pd.DataFrame({"model": known.models, "rate": rates})


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


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """The workflow with the analysis added, and a study of it, run."""
    workflow = custom_study(tmp_path_factory.mktemp("added") / "tree")
    before = '    "analyses.published_values'
    added = f'    "analyses.error_rate.ErrorRate",\n{before}'
    (workflow.folder / LIBRARY / "analyses" / "error_rate.py").write_text(ERROR_RATE.lstrip("\n"))
    workflow.edit(f"{LIBRARY}/registry.py", before, added)
    with (workflow.folder / "small.yaml").open("a") as study:
        study.write("error_rate: {datasets: [new], offset: 0.25}\n")
    workflow.run("error_rate")
    return workflow


def test_its_files_are_built(workflow):
    rates = workflow.table("mine/error_rate/new").set_index("model")["rate"]
    assert rates.to_dict() == {"a": 0.25, "b": 0.25}
    assert "25.0" in (workflow.results / "mine/error_rate/new.md").read_text()
    assert (workflow.results / "mine/figures/error_rate/new.png").stat().st_size


def test_a_figure_is_added_as_the_page_for_contributors_says(copy):
    page = (ROOT / "CONTRIBUTING.md").read_text()
    script, rule = re.findall(r"^```python\n(.+?)^```", page, re.MULTILINE | re.DOTALL)
    (copy.folder / "workflow_scripts/plot_ranks.py").write_text(script)
    targets = "# Runs and matched pairs; tables"
    copy.edit("rules/matching.smk", targets, f"{rule}\n\n{targets}")
    files = "files_of(rules.{}, pair=MATCHING.pairs),\n"
    drawn = files.format("plot_matching")
    copy.edit("rules/matching.smk", drawn, drawn + f"        {files.format('plot_ranks')}")
    copy.run()
    assert (copy.results / "mine/figures/both/ranks.png").stat().st_size
    assert "<strong>ranks.</strong>" in (copy.results / "mine/report.html").read_text()
