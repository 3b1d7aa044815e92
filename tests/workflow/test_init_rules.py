"""What `matched-eval init` writes runs in the real engine: each kind once, as small as can be."""

import json
import shlex
from pathlib import Path

import pytest
from engine import Workflow

from matcheval.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture
def workflow(tmp_path, monkeypatch):
    workflow = Workflow.fresh(tmp_path / "tree", None)
    monkeypatch.chdir(workflow.folder)
    return workflow


def init(capsys, *arguments):
    """Write a study; return its file, which the printed command names."""
    main(["init", *arguments, "--json"])
    told = json.loads(capsys.readouterr().out)
    program, *rest = shlex.split(told["command"])
    assert Path(program).name == "snakemake"
    assert rest == ["--cores", "all", "--configfile", told["files"][0]]
    return told["files"][0]


def test_predictions(workflow, capsys):
    """The whole study, report included."""
    study = init(capsys, "--example", "predictions")
    workflow.edit(study, "[pdf, png, svg]", "[png]")
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
    for _ in range(2):
        workflow.edit("studies/mine-models.csv", "cosine,20", "cosine,1")
    workflow.run("predictions", "--configfile", study)
    for name, n in (("mine-train", 30), ("mine-original", 30), ("mine-replication", 60)):
        description = json.loads(Path(f"results/datasets/{name}/dataset.json").read_text())
        assert description["n"] == n
    assert len(list(Path("results/predictions/mine-replication").glob("*.parquet"))) == 2
