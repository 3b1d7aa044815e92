"""What `matched-eval init` writes runs in the real engine: each kind once, as small as can be."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from engine import Workflow

from matcheval.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Workflow.fresh(tmp_path_factory.mktemp("init") / "tree", None)


@pytest.fixture
def workflow(tree, monkeypatch):
    monkeypatch.chdir(tree.folder)
    return tree


def init(capsys, *arguments):
    """Write a study; return its file, which the printed command names."""
    main(["init", *arguments, "--json"])
    told = json.loads(capsys.readouterr().out)
    program, *rest = shlex.split(told["command"])
    assert Path(program).name == "snakemake"
    assert rest == ["--cores", "all", "--configfile", told["files"][0]]
    return told["files"][0]


def edit(file, *changes):
    """Make a study smaller: replace what must be there."""
    text = Path(file).read_text()
    for old, new in changes:
        text, n = re.subn(old, new, text)
        assert n, old
    Path(file).write_text(text)


def test_predictions(workflow, capsys):
    """The whole study, report included."""
    study = init(capsys, "--example", "predictions")
    edit(study, (r"\[pdf, png, svg\]", "[png]"))
    workflow.run("--configfile", study)
    assert "random-forest" in Path("results/example-predictions/report.html").read_text()
    assert not Path("results/predictions").exists()


def test_images(workflow, capsys):
    """Two folders, and of the catalogue two networks that are trained for one epoch."""
    main(["init", "--example", "images"])
    capsys.readouterr()
    for folder in Path("data/example-images").glob("*/*"):
        for image in sorted(folder.iterdir())[6:]:
            image.unlink()
    folders = (f"data/example-images/{name}" for name in ("known-writers", "new-writers"))
    study = init(capsys, *folders, "--name", "mine")
    workflow.keep_models("studies/mine-models.csv", ["mine-linear", "mine-resnet"])
    edit("studies/mine-models.csv", (r"cosine,20", "cosine,1"))
    workflow.run("predictions", "--configfile", study)
    for name, n in (("mine-train", 30), ("mine-original", 30), ("mine-replication", 60)):
        description = json.loads(Path(f"results/datasets/{name}/dataset.json").read_text())
        assert description["n"] == n
    assert len(list(Path("results/predictions/mine-replication").glob("*.parquet"))) == 2


def test_shifted_sets(workflow, capsys):
    study = init(capsys, "--example", "shifts")
    workflow.keep_models("studies/example-shifts-models.csv", ["linear-ce"])
    edit("studies/example-shifts-models.csv", (r"cosine,30", "cosine,3"))
    edit(study, (r"corruption: \[gaussian_noise, .*\]", "corruption: [contrast]"),
         (r"severity: \[1, 3, 5\]", "severity: [5]"))  # fmt: skip
    workflow.run("suite_accuracies", "--configfile", study)
    (row,) = pd.read_csv("results/example-shifts/suite_accuracies/shifts.csv").itertuples()
    assert (row.dataset, row.gap > 0) == ("digits-contrast-5", True)
