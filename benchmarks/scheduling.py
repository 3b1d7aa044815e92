"""What Snakemake itself costs per job, while hundreds of jobs wait for a core.

Trainings of the digits study by a script that only writes its files after a tenth of a second, on
two cores: CPU seconds of Snakemake's process, with its own way of looking for jobs and with ours
(workflow_scripts/scheduling.py, `scheduler-subsample` of profiles/laptop).

python benchmarks/scheduling.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
from common import copy_workflow, write_results

N_MODELS = (50, 200)
HEAD = (
    "name,kind,architecture,width,depth,loss,loss_parameter,augmentation,schedule,epochs,"
    "batch_size,learning_rate,weight_decay,train_fraction,seed"
)
ROW = "m{seed},trained,linear,0,0,cross_entropy,,none,constant,1,64,0.1,0,1,{seed}"
STAND_IN = """\
import sys, time
time.sleep(0.1)
for option in ("--output", "--history"):
    open(sys.argv[sys.argv.index(option) + 1], "w").write("x")
"""
OURS = "    start_jobs_without_polling(workflow.scheduler)\n"


def cpu_seconds(folder: Path, n_models: int, way: str) -> float:
    """CPU seconds of the process of Snakemake, without those of its jobs."""
    copy_workflow(folder)
    rows = [HEAD, *(ROW.format(seed=seed) for seed in range(n_models))]
    (folder / "models.csv").write_text("\n".join(rows) + "\n")
    (folder / "study.yaml").write_text("models: models.csv\nmatching: {reliability_models: []}\n")
    (folder / "workflow_scripts" / "train.py").write_text(STAND_IN)
    profile = folder / "profiles" / "laptop" / "config.yaml"
    if way == "Snakemake's own":
        rules = folder / "rules" / "messages.smk"
        assert OURS in rules.read_text()
        rules.write_text(rules.read_text().replace(OURS, ""))
        lines = profile.read_text().splitlines(keepends=True)
        profile.write_text("".join(line for line in lines if "subsample" not in line))
    command = [
        sys.executable, "-m", "snakemake", "--profile", "profiles/laptop", "--cores", "2",
        "--configfile", "study.yaml", "--until", "train_model",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": "workflow_scripts"}
    process = psutil.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    used = 0.0
    while process.poll() is None:
        used = sum(process.cpu_times()[:2])
        try:
            process.wait(0.1)
        except psutil.TimeoutExpired:
            continue
    if process.returncode:
        raise SystemExit(f"the run in {folder} failed")
    return used


def main() -> None:
    """Run trainings of all numbers, both ways."""
    rows = []
    for n_models in N_MODELS:
        for way in ("Snakemake's own", "ours"):
            with tempfile.TemporaryDirectory() as temporary:
                used = cpu_seconds(Path(temporary), n_models, way)
            rows.append({"models": n_models, "way": way, "cpu_seconds": round(used, 1)})
    write_results("scheduling", rows, "snakemake")


if __name__ == "__main__":
    main()
