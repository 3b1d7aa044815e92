"""Each job gets a GPU of its own: detection and reservation, by real processes; needs no GPU."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from matcheval.errors import InputError
from matcheval.execution.gpus import lease, lock_folder, visible_gpus

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"


def test_devices_of_the_driver(tmp_path):
    for name in ("nvidia0", "nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert visible_gpus({}, tmp_path) == ["0", "2", "10"]
    assert visible_gpus({}, tmp_path / "none") == []


@pytest.mark.parametrize(
    ("value", "names"),
    [("0,1", ["0", "1"]), ("GPU-a1, MIG-b2", ["GPU-a1", "MIG-b2"]), ("", []), ("-1", []),
     ("1,-1,0", ["1"])],
)  # fmt: skip
def test_what_may_be_seen_counts(value, names, tmp_path):
    (tmp_path / "nvidia7").touch()
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": value}, tmp_path) == names


def test_more_than_there_are(tmp_path):
    with pytest.raises(InputError, match=r"2 GPU\(s\) requested, but only 1 available \(0\)"):
        lease(2, ["0"], tmp_path)
    with pytest.raises(InputError, match=r"'inference\.device' to cpu"):
        lease(1, [], tmp_path)


def test_a_schedulers_jobs_do_not_share_numbers():
    assert lock_folder({"SLURM_JOB_ID": "7"}) != lock_folder({"SLURM_JOB_ID": "8"})
    assert lock_folder({}) == lock_folder({})


def start(number: int, tmp_path: Path, code: str, devices: str = "0,1") -> subprocess.Popen[str]:
    """A job on GPUs, as a rule runs it."""
    return subprocess.Popen(
        [sys.executable, "-m", "lease_gpu", str(number), sys.executable, "-c", code],
        env={"CUDA_VISIBLE_DEVICES": devices, "TMPDIR": str(tmp_path), "PYTHONPATH": str(SCRIPTS)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


SEEN = "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True)"


def test_each_has_its_own_and_a_third_waits(tmp_path):
    first, second = (start(1, tmp_path, f"{SEEN}; import time; time.sleep(60)") for _ in range(2))
    try:
        held = {first.stdout.readline().strip(), second.stdout.readline().strip()}
        assert held == {"0", "1"}
        third = start(1, tmp_path, SEEN)
        assert "waiting for a free GPU of 0, 1" in third.stderr.readline()
        time.sleep(0.5)
        assert third.poll() is None
        # A job that is killed gives its GPU back; and it is the other one's that stays taken.
        second.kill()
        second.wait()
        output, _ = third.communicate(timeout=20)
        assert third.returncode == 0
        assert {output.strip()} < {"0", "1"}
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()


def test_all_of_several_or_none(tmp_path):
    both = start(2, tmp_path, SEEN)
    assert both.communicate(timeout=20)[0].strip() == "0,1"


def test_the_commands_exit_code_and_no_gpu(tmp_path):
    job = start(0, tmp_path, "import sys; sys.exit(7)", devices="")
    job.communicate(timeout=20)
    assert job.returncode == 7
    job = start(1, tmp_path, SEEN, devices="")
    assert "1 GPU(s) requested, but only 0 available" in job.communicate(timeout=20)[1]
    assert job.returncode == 1
