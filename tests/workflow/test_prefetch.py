"""`snakemake prefetch` downloads what the study needs where Snakemake runs, and nothing else."""

import json

import pytest
from engine import Workflow


@pytest.fixture
def fresh(tmp_path):
    return Workflow.fresh(tmp_path / "tree")


def test_a_study_that_downloads_nothing(fresh):
    assert fresh.plan("prefetch").jobs in ({}, {"prefetch": 1})
    fresh.run("prefetch")
    # What the names of the study stand for, and nothing else.
    made = [path.name for path in (fresh.folder / "results").rglob("*") if path.is_file()]
    assert made == ["digits.json"]


def test_all_downloads_and_no_more(fresh):
    """ImageNet itself, which is the user's own, is neither there nor asked for."""
    (fresh.folder / "small.yaml").unlink()
    planned = fresh.plan("prefetch", "--configfile", "studies/imagenet.yaml")
    assert planned.jobs == {"download_file": 3, "download_weights": 286, "prefetch": 1}


def test_downloads_happen_where_snakemake_runs(fresh):
    (fresh.folder / "ask.smk").write_text(
        'include: "Snakefile"\nimport json\n'
        'Path("local.json").write_text(json.dumps(sorted(workflow._localrules)))\n'
    )
    fresh.run("prefetch", "--snakefile", "ask.smk")
    local = json.loads((fresh.folder / "local.json").read_text())
    assert {"prefetch", "download_file", "download_weights"} <= set(local)
    assert not {"train_model", "predict_datasets"} & set(local)
