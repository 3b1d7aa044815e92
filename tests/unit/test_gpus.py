"""Each job gets a GPU of its own: detection and reservation, by real processes; needs no GPU."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from matcheval.errors import InputError
from matcheval.execution import gpus
from matcheval.execution.gpus import lock_folder, reserve_when_free, visible_gpus

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
LISTED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a1-0)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-a2-0)
  MIG 3g.20gb     Device  0: (UUID: MIG-b1)
  MIG 3g.20gb     Device  1: (UUID: MIG-b2)
GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-c1-0)
"""


@pytest.fixture
def driver(tmp_path):
    """Environment with an nvidia-smi that lists these GPUs."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\nprintf '%s' '{LISTED}'\n")
    command.chmod(0o700)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, ["GPU-a1-0", "MIG-b1", "MIG-b2", "GPU-c1-0"]),
        ("2,0", ["GPU-c1-0", "GPU-a1-0"]),
        ("GPU-a1-0,0", ["GPU-a1-0"]),  # one GPU by two names
        ("GPU-c,MIG-b2", ["GPU-c1-0", "MIG-b2"]),
        ("GPU-a,0", []),  # either of two
        ("", []),
    ],
)
def test_what_may_be_seen_by_uuid(driver, value, names):
    given = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_gpus(driver | given) == names


def test_without_the_driver_there_are_numbers(tmp_path, caplog):
    """A container with `/dev/nvidia3` alone has one GPU, which CUDA calls 0."""
    nothing = {"PATH": str(tmp_path)}
    for name in ("nvidia3", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert visible_gpus(nothing, tmp_path) == ["0"]
    assert "the NVIDIA driver cannot be asked" in caplog.text
    assert visible_gpus(nothing, tmp_path / "none") == []
    for value, names in (("0,GPU-b7", ["0", "GPU-b7"]), ("-1", []), ("1,-1,0", ["1"])):
        assert visible_gpus(nothing | {"CUDA_VISIBLE_DEVICES": value}, tmp_path) == names


COMMUNICATE = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


def test_a_driver_that_cannot_be_asked_is_told_and_gpus_are_counted(driver, tmp_path, caplog):
    (tmp_path / "nvidia-smi").write_text(f'#!/bin/sh\necho "{COMMUNICATE}"; exit 9\n')
    (tmp_path / "nvidia0").touch()
    assert visible_gpus(driver, tmp_path) == ["0"]
    assert f"nvidia-smi -L: {COMMUNICATE}" in caplog.text
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho No devices were found; exit 6\n")
    (tmp_path / "nvidia0").unlink()
    assert visible_gpus(driver, tmp_path) == []  # as on the login node of a cluster


def test_the_folder_of_locks(tmp_path, monkeypatch):
    """The same for all users and TMPDIRs, but for a scheduler's jobs, whose GPUs are assigned."""
    monkeypatch.setattr(gpus, "_SHARED", (tmp_path / "none", tmp_path / "mine", tmp_path / "ours"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o777)  # anybody could replace the files of others
    with pytest.raises(InputError, match="no folder is shared by all users"):
        lock_folder({})
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours").chmod(0o1777)
    assert lock_folder({"TMPDIR": "/x"}) == tmp_path / "ours"
    assert lock_folder({"MATCHEVAL_GPU_LOCKS": str(tmp_path)}) == tmp_path
    with pytest.raises(InputError, match="MATCHEVAL_GPU_LOCKS"):
        lock_folder({"MATCHEVAL_GPU_LOCKS": "/none"})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert lock_folder({"SLURM_JOB_ID": "7"}) != lock_folder({"SLURM_JOB_ID": "8"})


def test_a_trap_in_the_shared_folder_is_refused(tmp_path):
    file, victim = tmp_path / "matched-eval-gpu-0.lock", tmp_path / "victim"
    victim.write_text("mine")
    file.symlink_to(victim)
    with pytest.raises(InputError, match="not a lock file"):
        reserve_when_free(1, ["0"], tmp_path)
    assert victim.read_text() == "mine"


def start(number: int, tmp_path: Path, code: str, devices: str = "0,1") -> subprocess.Popen[str]:
    """A job on GPUs, as a rule runs it."""
    environment = {
        "CUDA_VISIBLE_DEVICES": devices, "MATCHEVAL_GPU_LOCKS": str(tmp_path),
        "PYTHONPATH": str(SCRIPTS), "PATH": str(tmp_path),
    }  # fmt: skip
    reserving = (
        "from matcheval.execution import entry_points, gpus\n"
        f"entry_points.run_command(gpus.reserve_gpus, {number})\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", reserving + code],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
        output, _ = third.communicate(timeout=120)
        assert third.returncode == 0
        assert {output.strip()} < {"0", "1"}
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()


def test_several_gpus_none_and_the_exit_code(tmp_path):
    both = start(2, tmp_path, SEEN)
    none = start(0, tmp_path, "import sys; sys.exit(7)", devices="")
    refused = start(1, tmp_path, SEEN, devices="")
    assert both.communicate(timeout=120)[0].strip() == "0,1"
    none.communicate(timeout=120)
    assert none.returncode == 7
    assert "1 GPU(s) requested, but only 0 available" in refused.communicate(timeout=120)[1]
    assert refused.returncode == 1
