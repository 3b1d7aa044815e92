"""`snakemake -n`: of the digits study, of the paper's two studies, and of suites of many models.

Seconds and memory of the whole process: of the studies with everything to do, medians of three; of
`predictions` of the suites once with nothing there but the weights and, of the smaller suite, once
with all predictions. The suites' files are stubs: planning opens none of them.

    python benchmarks/plans.py
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import RESULTS, copy_workflow, write_results

REPEATS = 3
STUDIES = ("config.yaml", "studies/cifar10.yaml", "studies/imagenet.yaml")
SIZES = ((70, 400), (10_000, 200))  # models, sets


def time_plan(folder: Path, study: str, target: str = "all") -> tuple[float, float, int]:
    """Run `snakemake -n`; return its seconds, peak memory in MiB, and number of jobs."""
    output = folder / "output.txt"
    start = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "snakemake", target, "-n", "--quiet", "rules",
                "--profile", "profiles/laptop", "--configfile", study,
            ],
            cwd=folder, stdout=stream, stderr=stream,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    text = output.read_text()
    if status:
        raise SystemExit(text)
    jobs = re.search(r"^total +([\d,]+)", text, re.MULTILINE)
    assert jobs is not None, text
    return seconds, usage.ru_maxrss / 1024, int(jobs[1].replace(",", ""))


def write_study(folder: Path, n_models: int, n_sets: int) -> str:
    """Write a study of checkpoints and a suite of arrays, with empty files; return its name."""
    name = f"plan-{n_models}x{n_sets}"
    weights = folder / f"{name}-weights"
    weights.mkdir()
    rows = ["name,kind,source,architecture,width,depth,normalization"]
    for i in range(n_models):
        path = weights / f"m{i}.safetensors"
        path.touch()
        rows.append(f"m{i},checkpoint,{path},resnet_a,16,20,cifar10")
    (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    for i in range(n_sets):
        place = folder / f"{name}-sets" / f"set{i}"
        place.mkdir(parents=True)
        (place / "images.npz").touch()
    (folder / f"{name}.yaml").write_text(
        f"study: {name}\nmodels: {name}.csv\nresults: results-{name}\n"
        "datasets: {base: {kind: cifar10, part: test}}\n"
        "suites:\n  all:\n    members:\n"
        f"      - dataset: {{kind: arrays, file: '{name}-sets/{{set}}/images.npz',"
        " classes: cifar10}\n"
    )
    return name


def write_stubs(folder: Path, name: str, n_sets: int) -> None:
    """Write stubs of prepared sets, of all predictions on them, and of the links to these."""
    from matcheval.io.provenance import publish
    from matcheval.io.user_files import read_yaml
    from matcheval.study.configuration import load_study

    study = load_study(read_yaml(folder / f"{name}.yaml"))
    jobs = study.predicting
    for i in range(n_sets):
        place = Path(study.dataset_folder(f"set{i}"))
        place.mkdir(parents=True)
        description = {"name": f"set{i}", "n": 10_000, "n_classes": 10}
        (place / "dataset.json").write_text(json.dumps(description))
        # An array without data.
        header = np.lib.format.header_data_from_array_1_0(np.empty((0, 32, 32, 3), np.uint8))
        with (place / "images.npy").open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, header)
        (place / "datapoints.parquet").touch()
        predictions = Path(study.results, "predictions", f"set{i}")
        predictions.mkdir(parents=True)
        for model in study.models:
            (predictions / f"{model}.parquet").touch()
            publish(
                predictions / f"{model}.parquet", Path(study.predictions_file(f"set{i}", model))
            )
    suite = Path(jobs.suite_file("all"))
    suite.parent.mkdir(parents=True)
    suite.write_text(json.dumps({f"set{i}": "0" * 64 for i in range(n_sets)}))


def summarize(study: str, state: str, runs: list[tuple[float, float, int]]) -> dict[str, object]:
    """Return a row of results: the dry runs of one study in one state."""
    return {
        "study": study, "state": state, "jobs": runs[0][2], "repeats": len(runs),
        "seconds": round(statistics.median(run[0] for run in runs), 2),
        "peak_mib": round(max(run[1] for run in runs)),
    }  # fmt: skip


def main() -> None:
    """Time the dry runs, each study's in a fresh copy of the workflow."""
    rows = []
    for study in (*STUDIES, *SIZES):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            copy_workflow(folder)
            if isinstance(study, str):
                runs = [time_plan(folder, study) for _ in range(REPEATS)]
                rows.append(summarize(study, "nothing", runs))
                continue
            os.chdir(folder)
            name, (n_models, n_sets) = write_study(folder, *study), study
            suite, file = f"{n_models} models on {n_sets} sets", f"{name}.yaml"
            rows.append(summarize(suite, "weights", [time_plan(folder, file, "predictions")]))
            if study == SIZES[0]:
                write_stubs(folder, name, n_sets)
                rows.append(summarize(suite, "all", [time_plan(folder, file, "predictions")]))
            os.chdir(RESULTS.parent)
    write_results("plans", rows, "snakemake")


if __name__ == "__main__":
    main()
