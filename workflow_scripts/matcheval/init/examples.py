"""Data of examples: real scans of digits by known and by new writers."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.datasets.digits import rows_of
from matcheval.io.files import check_place, disk_errors
from matcheval.names import MODEL
from matcheval.predictions.records import check_predictions, write_predictions

_MAX_VALUE = 16  # of a pixel of the scans


def write_example(example: str, folder: Path) -> tuple[str, str]:
    """Write the images or predictions of both sets; return what `init` is given of them."""
    known, new = folder / "known-writers", folder / "new-writers"
    if example == "images":
        _write_images(known, np.sort(np.concatenate([rows_of("train"), rows_of("known")])))
        _write_images(new, rows_of("new-writers"))
        return str(known), str(new)
    _write_predictions(known, new)
    return f"{known}/{MODEL}.csv", f"{new}/{MODEL}.csv"


def _write_predictions(known: Path, new: Path) -> None:
    """Write what three classifiers predict."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    scans, labels = load_digits(return_X_y=True)
    train = rows_of("train")
    for name, classifier in {
        "logistic-regression": LogisticRegression(C=0.01, max_iter=1000),
        "naive-bayes": GaussianNB(var_smoothing=0.01),
        "random-forest": RandomForestClassifier(50, random_state=0),
    }.items():
        classifier.fit(scans[train], labels[train])
        for folder, part in ((known, "known"), (new, "new-writers")):
            rows = rows_of(part)
            scores = classifier.predict_proba(scans[rows])
            predictions = check_predictions({
                "label": labels[rows], "prediction": scores.argmax(axis=1),
                "probability": scores.max(axis=1),
            })  # fmt: skip
            write_predictions(predictions, folder / f"{name}.csv")


def _write_images(folder: Path, rows: npt.NDArray[np.int64]) -> None:
    """Write scans, a folder per digit."""
    from PIL import Image
    from sklearn.datasets import load_digits

    scans, labels = load_digits(return_X_y=True)
    for row in rows:
        path = folder / str(labels[row]) / f"{row:04d}.png"
        pixels = np.round(scans[row].reshape(8, 8) * (255 / _MAX_VALUE)).astype(np.uint8)
        check_place(path)
        with disk_errors(path):
            Image.fromarray(pixels).save(path)
