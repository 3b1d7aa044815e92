"""NannyML's CBPE on CIFAR-10.1, from the same logits as the study `cifar10.1-published`.

After `make cifar10.1`, in an environment of its own:

    python -m venv cbpe
    cbpe/bin/pip install nannyml==0.13.1 statsmodels
    cbpe/bin/python benchmarks/published_cbpe.py

CBPE calibrates the probabilities of each class on the labelled set and estimates the accuracy on
the other one from them. The whole of either set is one chunk.
"""

import csv
import os
import time
from pathlib import Path

os.environ["NML_DISABLE_USAGE_LOGGING"] = "True"  # before the import: no report leaves the machine

import nannyml
import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "results" / "downloads"
LABELS = {
    "cifar10": "cifar10_test_set_original_labels.npy",
    "cifar10.1-v6": "cifar10.1_v6_labels.npy",
}
CLASSES = [str(k) for k in range(10)]


def frame(dataset: str, model: str) -> pd.DataFrame:
    """Probabilities of all classes, prediction and truth, as CBPE takes them."""
    file = FILES / "cifar10.1-published-files" / dataset / f"{model}.npz"
    logits = np.load(file)["preds"].astype(np.float64)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    found = pd.DataFrame(shifted / shifted.sum(axis=1, keepdims=True), columns=CLASSES)
    found["prediction"] = logits.argmax(axis=1).astype(str)
    found["truth"] = np.load(FILES / LABELS[dataset]).astype(str)
    return found


def estimate(model: str) -> tuple[float, float, float]:
    """Return the estimated and the true accuracy on the new set, and the seconds taken."""
    old, new = frame("cifar10", model), frame("cifar10.1-v6", model)
    start = time.perf_counter()
    cbpe = nannyml.CBPE(
        y_pred_proba={name: name for name in CLASSES}, y_pred="prediction", y_true="truth",
        problem_type="classification_multiclass", metrics=["accuracy"], chunk_number=1,
    )  # fmt: skip
    cbpe.fit(old)
    found = cbpe.estimate(new.drop(columns="truth")).filter(period="analysis").to_df()
    seconds = time.perf_counter() - start
    truth = float((new["prediction"] == new["truth"]).mean())
    return float(found["accuracy", "value"].iloc[0]), truth, seconds


def main() -> None:
    """Estimate the accuracy of all networks of the study's catalogue."""
    with (ROOT / "studies" / "cifar10.1-published-models.csv").open(newline="") as stream:
        models = [row["name"] for row in csv.DictReader(stream)]
    rows = []
    for model in models:
        estimated, truth, seconds = estimate(model)
        rows.append({
            "model": model, "estimated": f"{estimated:.6f}", "accuracy": f"{truth:.4f}",
            "seconds": f"{seconds:.2f}", "versions": f"nannyml {nannyml.__version__}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    output = Path(__file__).resolve().parent / "results" / "published_cbpe.csv"
    with output.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
