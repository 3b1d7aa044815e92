"""What sites ask for, as docs/cluster.md says to write it, is what SLURM is asked for."""

import re

import pytest
from accounting import FEW, OTHER_ACCOUNT
from brief import BriefRun

# Lines of a profile; the name of the job, which is that of its partition if there is one; and what
# SLURM then knows of the job.
CASES = {
    "place": (
        f"""\
default-resources:
  slurm_partition: cpu
  slurm_account: {OTHER_ACCOUNT}
  qos: {FEW}
  constraint: fast
  slurm_extra: "'--nice=100 --exclude=cpu1'"
matcheval-slurm-reservation: course
""",
        "job",
        {
            "Partition": "cpu", "Account": OTHER_ACCOUNT, "QOS": FEW, "Features": "fast",
            "Nice": "100", "ExcNodeList": "cpu1", "Reservation": "course",
        },
    ),
    "qos": (f"matcheval-slurm-qos: {FEW}\n", "job", {"QOS": FEW}),
    "gpus": ("keep-going: true\n", "gpu", {"TresPerJob": "gres:gpu:1"}),
    "gres": ("matcheval-slurm-gres: gpu\n", "gpu", {"TresPerNode": "gres:gpu:1"}),
    "type": ("matcheval-slurm-gres: gpu:v100\n", "gpu", {"TresPerNode": "gres:gpu:v100:1"}),
    "model": (
        "default-resources:\n  gpu_model: v100\n", "gpu", {"TresPerJob": "gres:gpu:v100:1"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def submitted(accounted, tmp_path_factory):
    """What SLURM knows of the job of each case; all run at once."""
    reservation = ["Reservation=course", "Users=root", "Nodes=cpu2", "StartTime=now", "Duration=60"]
    accounted.command("scontrol", "create", *reservation, "Flags=IGNORE_JOBS")
    runs = {}
    for case, (profile, name, _) in CASES.items():
        run = BriefRun(tmp_path_factory.mktemp(case) / "tree", accounted)
        (run.folder / "go").touch()
        (run.folder / "profile").mkdir()
        (run.folder / "profile" / "config.yaml").write_text(profile)
        gpus = ["--set-resources", "work:gpu=1"] if name == "gpu" else []
        runs[case] = run, run.start(name, "--profile", "profile", *gpus)
    known = {}
    for case, (run, process) in runs.items():
        run.finish(process)
        ((_, number),) = run.starts_on
        shown = accounted.command("scontrol", "show", "job", number)
        known[case] = dict(re.findall(r"(\w+)=(\S+)", shown))
    return known


@pytest.mark.parametrize("case", CASES)
def test_what_a_site_asks_for(submitted, case):
    expected = {"JobState": "COMPLETED", **CASES[case][2]}
    assert {key: submitted[case].get(key) for key in expected} == expected
