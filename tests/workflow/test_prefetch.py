"""`snakemake prefetch` downloads what the study needs, where Snakemake runs, and nothing else."""

import json

import pytest
from engine import Workflow

# A rule as those that download: it adds to DOWNLOADS what this study needs of it.
DOWNLOAD = """

rule download_weights:
    output:
        f"{SHARED}/weights/{{weights}}.bin",
    shell:
        "echo {wildcards.weights} > {output}"


DOWNLOADS += expand(rules.download_weights.output, weights=["a", "b"])
"""


@pytest.fixture
def fresh(tmp_path):
    return Workflow.fresh(tmp_path / "tree")


def test_a_study_that_downloads_nothing(fresh):
    assert fresh.plan("prefetch").jobs in ({}, {"prefetch": 1})
    fresh.run("prefetch")
    assert not (fresh.folder / "results").exists()


def test_all_downloads_and_no_more(fresh):
    file = fresh.folder / "rules" / "training.smk"
    file.write_text(file.read_text() + DOWNLOAD)
    (fresh.folder / "ask.smk").write_text(
        'include: "Snakefile"\nimport json\n'
        'Path("local.json").write_text(json.dumps(sorted(workflow._localrules)))\n'
    )
    assert fresh.plan("prefetch").jobs == {"download_weights": 2, "prefetch": 1}
    fresh.run("prefetch", "--snakefile", "ask.smk")
    made = sorted(file.name for file in (fresh.folder / "results" / "weights").iterdir())
    assert made == ["a.bin", "b.bin"]
    local = json.loads((fresh.folder / "local.json").read_text())
    assert {"prefetch", "download_weights"} <= set(local)
    assert not {"train_model", "predict_dataset"} & set(local)
