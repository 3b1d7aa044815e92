"""Resources of the jobs as Snakemake plans them: by profile, study and command line."""

import json
import re

import pytest
import yaml
from engine import Workflow


@pytest.fixture
def fresh(tmp_path):
    return Workflow.fresh(tmp_path / "tree")


# Jobs that are long or few. All others are submitted to a cluster in groups.
ALONE = {
    "prepare_dataset", "derive_dataset", "train_model",
    "search_near_duplicates", "simulate_annotations", "count_selections", "sample_dataset", "check",
}  # fmt: skip


def requests(workflow, *arguments) -> dict[str, str]:
    """The resources of a job of each rule, as a dry run shows them with the profile for SLURM."""
    # Where a rule has a message, a dry run prints that instead of what it asks for.
    for file in (workflow.folder / "rules").glob("*.smk"):
        file.write_text(re.sub(r" +message:\n.*\n", "", file.read_text()))
    profile = ["--profile", "profiles/slurm", "--executor", "local"]
    result = workflow.run("predictions", "--dry-run", *profile, *arguments)
    found = re.findall(
        r"^ *rule (\w+):\n(?: +.*\n)*? +resources: (.*)\n",
        result.stdout + result.stderr,
        re.MULTILINE,
    )
    return dict(found)


def test_gpus_where_the_profile_has_a_place_for_them(fresh):
    auto = ["--config", "inference={device: auto}"]
    wanted = requests(fresh, *auto)
    assert "gpu=1" in wanted["predict_datasets"]
    assert "slurm_partition=gpu" in wanted["predict_datasets"]
    assert "slurm_partition=cpu" in wanted["prepare_dataset"]
    # The one setting of a cluster without GPUs.
    fresh.edit("profiles/slurm/config.yaml", "  gpu_partition: gpu ", "# gpu_partition: gpu ")
    wanted = requests(fresh, *auto)
    assert "gpu=0" in wanted["predict_datasets"]
    assert "slurm_partition=cpu" in wanted["predict_datasets"]


def test_the_command_line_has_the_last_word(fresh):
    wanted = requests(fresh, "--set-resources", "train_model:mem_mb=4321*attempt")
    assert "mem_mb=4321," in wanted["train_model"]
    assert "runtime=10" in wanted["train_model"]


def test_groups_are_submitted_whole(tmp_path):
    """Of the study with most kinds of jobs; Snakemake refuses a group that waits for itself."""
    workflow = Workflow.fresh(tmp_path / "tree", small=False)
    study = ["--configfile", "studies/digits-sampling.yaml"]
    result = workflow.run("--dry-run", "--profile", "profiles/slurm", *study)
    groups = re.findall(r"Group job (\w+)", result.stdout + result.stderr)
    assert groups == ["inference"] * 4 + ["matching", "tables"]


def test_only_small_jobs_are_in_groups(fresh):
    """Jobs of an analysis that the profile does not name are submitted one by one."""
    (fresh.folder / "ask.smk").write_text(
        'include: "Snakefile"\nimport json\n'
        "names = {rule.name for rule in workflow.rules} - set(workflow._localrules)\n"
        'Path("rules.json").write_text(json.dumps(sorted(names)))\n'
    )
    fresh.run("prefetch", "--dry-run", "--snakefile", "ask.smk")
    rules = set(json.loads((fresh.folder / "rules.json").read_text()))
    profile = yaml.safe_load((fresh.folder / "profiles/slurm/config.yaml").read_text())
    assert set(profile["groups"]) <= rules - ALONE
