"""Write published logits, kept in Parquet, as the files of which a study downloads them.

Serves the study `cifar10.1-published` where its files cannot be downloaded: from the same arrays,
the script makes files of the published names and format. Their bytes differ from the published
ones, so it also writes a list of files with their digests, and a study file that uses it:

    python benchmarks/published_logits.py DATA served/
    snakemake --configfile served/cifar10.1-published.yaml --config mirror=served
"""

import argparse
import csv
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml

from matcheval.io.files import file_digest
from matcheval.io.user_files import read_yaml

STUDIES = Path(__file__).resolve().parents[1] / "studies"
STUDY = STUDIES / "cifar10.1-published.yaml"


def write_published(data: Path, output: Path) -> Path:
    """Write the logits of all networks as published files; return a study file that uses them."""
    study = read_yaml(STUDY)
    listed = STUDIES / Path(study["datasets"]["cifar10"]["download"]["files"]).name
    with (STUDIES / Path(study["models"]).name).open(newline="") as file:
        columns = {row["name"]: row["note"].replace(" at ", "|") for row in csv.DictReader(file)}
    labels = np.load(data / "labels.npz")
    logits = {
        "cifar10": pq.read_table(data / "logits_cifar10.parquet"),
        "cifar10.1-v6": pq.read_table(data / "logits_cifar10_1_v6.parquet"),
    }
    truth = {"cifar10": labels["cifar10"], "cifar10.1-v6": labels["cifar10_1_v6"]}
    with listed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        column = logits[row["dataset"]].column(columns[row["model"]]).combine_chunks()
        path = output / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, column.flatten().to_numpy().reshape(-1, 10), truth[row["dataset"]])
        row |= {"bytes": path.stat().st_size, "sha256": file_digest(path)}
    for file in (data / "as_published" / "labels").iterdir():
        shutil.copy(file, output / file.name)
    with (output / listed.name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for dataset in study["datasets"].values():
        dataset["download"] = dataset["download"] | {"files": str(output / listed.name)}
    (output / STUDY.name).write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    return output / STUDY.name


def write_file(path: Path, logits: np.ndarray, truth: np.ndarray) -> None:
    """Write logits in the published format, whose `labels` are the predicted classes."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    predicted = logits.argmax(axis=1)
    loss = float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-30)).mean())
    np.savez(
        path, preds=logits, probs=probabilities, labels=predicted, loss=loss,
        acc=float((predicted == truth).mean()),
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of logits_cifar10.parquet and the others")
    parser.add_argument("output", type=Path, help="folder to write")
    arguments = parser.parse_args()
    print(write_published(arguments.data, arguments.output))
