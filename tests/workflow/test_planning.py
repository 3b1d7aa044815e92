"""What Snakemake plans: resources by profile, study and command line; time limits; downloads."""

import json
import re

import pytest
from engine import Workflow

SLURM = ("--profile", "profiles/slurm", "--executor", "local")


@pytest.fixture
def workflow(tmp_path):
    """The small study, not run."""
    return Workflow.fresh(tmp_path / "tree")


def requests(workflow, *arguments) -> dict[str, str]:
    """The resources of a job of each rule, as a dry run shows them with the profile for SLURM."""
    # Where a rule has a message, a dry run prints that instead of what it asks for.
    for file in (workflow.folder / "rules").glob("*.smk"):
        file.write_text(re.sub(r" +message:\n.*\n", "", file.read_text()))
    output = workflow.run("predictions", "--dry-run", *SLURM, *arguments)
    return dict(re.findall(r"^ *rule (\w+):\n(?: +.*\n)*? +resources: (.*)\n", output, re.M))


def test_gpus_where_the_profile_has_a_place_for_them(workflow):
    """The command line has the last word."""
    given = ("--config", "inference={device: auto}")
    asked = requests(workflow, "--set-resources", "train_models_1:mem_mb=4321*attempt", *given)
    assert "mem_mb=4321," in asked["train_models_1"]
    assert "runtime=10" in asked["train_models_1"]
    assert "gpu=1" in asked["predict_datasets"]
    assert "slurm_partition=gpu" in asked["predict_datasets"]
    assert "slurm_partition=cpu" in asked["prepare_dataset"]
    # The one setting of a cluster without GPUs.
    workflow.edit("profiles/slurm/config.yaml", "  gpu_partition: gpu ", "# gpu_partition: gpu ")
    asked = requests(workflow, *given)
    assert "gpu=0" in asked["predict_datasets"]
    assert "slurm_partition=cpu" in asked["predict_datasets"]


def test_only_where_the_profile_says_so_jobs_end_before_their_time_limit(workflow):
    """On one machine, no training or inference is told of a limit."""
    show = ("predictions", "--dry-run", "--verbose", "--printshellcmds", "--profile")
    assert "--minutes" not in workflow.run(*show, "profiles/laptop")
    told = workflow.run(*show, *SLURM[1:], "--set-resources", "train_models_1:runtime=70")
    assert re.search(r"python \S+ train:train_models .* --minutes 70 ", told)
    assert re.search(r"python \S+ predict:predict .* --minutes 10 ", told)
    # The one setting of a cluster without time limits; with one, no job asks for more.
    workflow.edit("profiles/slurm/config.yaml", "max_runtime: 1440", "max_runtime: 8")
    assert re.search(r"\bruntime=8\b", requests(workflow)["train_models_1"])
    workflow.edit("profiles/slurm/config.yaml", "  max_runtime: 8 ", "# max_runtime: 8 ")
    assert "--minutes" not in workflow.run(*show, *SLURM[1:])


def test_rules_of_the_login_node(workflow):
    """Also, a study that downloads nothing, before anything is made."""
    assert workflow.plan("prefetch").jobs in ({}, {"prefetch": 1})
    (workflow.folder / "ask.smk").write_text(
        'include: "Snakefile"\nimport json\n'
        'Path("rules.json").write_text(json.dumps(sorted(workflow._localrules)))\n'
    )
    workflow.run("prefetch", "--snakefile", "ask.smk")
    # What the names of the study stand for, its settings, and nothing else.
    files = {path.name for path in workflow.results.rglob("*") if path.is_file()}
    assert files == {"digits.json", ".made_with.json"}
    local = set(json.loads((workflow.folder / "rules.json").read_text()))
    assert {"download_file", "download_weights"} <= local
    assert not {"train_model", "predict_datasets"} & local


def test_all_downloads_and_no_more(workflow):
    """Three sets and an audit; ImageNet itself, the user's own, is neither there nor asked for."""
    planned = workflow.plan("prefetch", "--configfile", "studies/imagenet.yaml")
    assert planned.jobs == {"download_file": 4, "download_weights": 286, "prefetch": 1}
