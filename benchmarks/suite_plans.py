"""`snakemake -n predictions` of suites: many models on many sets.

Seconds and memory of the whole process, once with nothing there but the weights, once with all
predictions. Files are stubs: planning opens none of them.

    python benchmarks/suite_plans.py
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
from common import RESULTS, copy_workflow, write_results
from dry_run import dry_run

SIZES = ((70, 400), (10_000, 200))  # models, sets


def make_study(folder: Path, n_models: int, n_sets: int) -> str:
    """A catalogue of checkpoints, a suite of arrays, and files in place of weights and images."""
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


def make_predictions(folder: Path, name: str, n_sets: int) -> None:
    """Stubs of prepared sets, of all predictions on them, and of the links to these."""
    from matcheval.io.kept import publish
    from matcheval.io.user_files import read_yaml
    from matcheval.registry import ANALYSES
    from matcheval.study.configuration import load_study

    study = load_study(
        read_yaml(folder / f"{name}.yaml"), default_study=folder / "config.yaml", analyses=ANALYSES
    )
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


def main() -> None:
    """Time the plans on a fresh copy."""
    rows = []
    for n_models, n_sets in SIZES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            copy_workflow(folder)
            os.chdir(folder)
            name = make_study(folder, n_models, n_sets)
            for state in ("nothing there", "all there"):
                if state == "all there":
                    make_predictions(folder, name, n_sets)
                seconds, peak, n_jobs = dry_run(folder, f"{name}.yaml", "laptop", "predictions")
                rows.append(
                    {
                        "models": n_models,
                        "sets": n_sets,
                        "state": state,
                        "jobs": n_jobs,
                        "seconds": round(seconds, 1),
                        "peak_mib": round(peak),
                    }
                )
                print(rows[-1], flush=True)
            os.chdir(RESULTS.parent)
    write_results("suite_plans", rows, "snakemake")


if __name__ == "__main__":
    main()
