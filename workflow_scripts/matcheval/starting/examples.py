"""Small examples that run: real scans of digits, as images, as predictions, as shifted sets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matcheval.datasets.digits import rows_of
from matcheval.io.files import check_place, disk_errors
from matcheval.predictions.records import check_predictions, write_predictions
from matcheval.starting.drafting import Block, Draft, Wishes, draft_study
from matcheval.starting.looking import SPACES, look_at, published_set

KNOWN, NEW = "known-writers", "new-writers"
_MAX_VALUE = 16  # of a pixel of the scans


@dataclass(frozen=True)
class Example:
    """An example."""

    summary: str
    write: Callable[[Path], None] | None
    draft: Callable[[Path], Draft]


def _write_predictions(folder: Path) -> None:
    """Write what three classifiers predict of digits by known and by new writers."""
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
        for place, part in ((KNOWN, "known"), (NEW, "new-writers")):
            rows = rows_of(part)
            found = classifier.predict_proba(scans[rows])
            predictions = check_predictions({
                "label": labels[rows], "prediction": found.argmax(axis=1),
                "probability": found.max(axis=1),
            })  # fmt: skip
            write_predictions(predictions, folder / place / f"{name}.csv")


def _write_images(folder: Path) -> None:
    """Write the scans by known and by new writers, a folder per digit."""
    from PIL import Image
    from sklearn.datasets import load_digits

    scans, labels = load_digits(return_X_y=True)
    known = np.sort(np.concatenate([rows_of("train"), rows_of("known")]))
    for place, rows in ((KNOWN, known), (NEW, rows_of("new-writers"))):
        for row in rows:
            path = folder / place / str(labels[row]) / f"{row:04d}.png"
            pixels = np.round(scans[row].reshape(8, 8) * (255 / _MAX_VALUE)).astype(np.uint8)
            check_place(path)
            with disk_errors(path):
                Image.fromarray(pixels).save(path)


def _shifts(_: Path) -> Draft:
    """Draft a study of corrupted scans, which are made when they are read."""
    space = SPACES["digits"]
    blocks = [Block(name, options) for name, options in space.training.values()]
    found = published_set("digits")
    base = Block(found.name, found.block)
    member = {
        "dataset": {
            "kind": "corrupted", "of": base.name, "corruption": "{corruption}",
            "severity": "{severity}", "size": 32, "parameters": 224, "jpeg_quality": "none",
            "restore": True,
        },
        "values": {
            "corruption": ["gaussian_noise", "contrast", "motion_blur", "fog"],
            "severity": [1, 3, 5],
        },
        "name": "digits-{corruption}-{severity}",
        "group": "corruptions", "subgroup": "{corruption}", "severity": "{severity}",
    }  # fmt: skip
    return Draft(
        "digits-known against corrupted versions of it", (*blocks, base), base.name,
        suite=Block("shifts", member, "corruptions and severities; docs/datasets.md has more"),
        training={key: name for key, (name, _) in space.training.items()},
        catalogue=space.catalogue, more_models=space.all_models,
    )  # fmt: skip


def _of_digits(_: Path) -> Draft:
    return draft_study(published_set("digits"), published_set("digits-new-writers"), Wishes())


def _of_files(end: str) -> Callable[[Path], Draft]:
    """Return what drafts the study of the sets in a folder, by known and by new writers."""
    return lambda folder: draft_study(
        look_at(str(folder / KNOWN / end)), look_at(str(folder / NEW / end)), Wishes()
    )


EXAMPLES: Mapping[str, Example] = {
    "digits": Example("four networks on digits by known and by new writers", None, _of_digits),
    "predictions": Example("prediction files of three classifiers", _write_predictions,
                           _of_files("{model}.csv")),
    "images": Example("two folders of images", _write_images, _of_files("")),
    "shifts": Example("twelve corrupted versions of a test set", None, _shifts),
}  # fmt: skip
