"""True classes in a file of their own, such as `labels.npy` beside `logits.npy`."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from matcheval.errors import InputError, listed
from matcheval.names import NAMED_SUFFIXES, PREDICTION_SUFFIXES
from matcheval.predictions.alignment import common_fold, key_texts
from matcheval.predictions.column_names import plain
from matcheval.predictions.formats import Column, as_list, load, stem_of, suffix_of
from matcheval.predictions.recognition import RawFile, recognise

LABELS_FILE = "labels_file"  # key of the metadata
_TRUTHS = (
    "labels", "label", "targets", "target", "targs", "y_true", "y_test", "y", "ground_truth", "gt",
    "truth",
)  # fmt: skip
_SCORES = re.compile(
    r"(?<![a-z0-9])(logits?|outputs?|prob(abilitie)?s?|softmax|scores?|pred(iction)?s?|y_(pred|score|prob))"
    r"(?![a-z0-9])"
)


def with_labels_beside(raw: RawFile, path: Path) -> RawFile:
    """Add the true classes from the one file beside that is named like them, if there is one."""
    file = _labels_file(path)
    return raw if file is None else with_labels_of(raw, path, file)


def with_labels_of(raw: RawFile, path: Path, file: Path) -> RawFile:
    """Take the true classes from another file.

    Rows are those of equal key, such as a file name, where both files have one; otherwise both have
    the same rows.
    """
    layout = replace(raw.layout, columns={})
    loaded = load(file)
    found = recognise(loaded, layout)
    names = [name for name in loaded.names if found.key is None or name != found.key[0]]
    if "label" in found.columns:
        label: Column = found.columns["label"]
    elif len(names) == 1:
        label = loaded.read(names)[names[0]]
    else:
        raise InputError(
            f"is to have the true classes of {path.name}, but has no column of them; "
            f"found {found.shown}", file=file, remedy="Name the column 'label'",
        )  # fmt: skip
    columns = dict(raw.columns)
    if raw.either is not None:
        columns["prediction"] = columns.pop("label")
    given = [*columns.values(), *(raw.classes.columns.values() if raw.classes else ())]
    n = len(given[0])
    told = f"label = `{file.name}`"
    if raw.key is not None and found.key is not None:
        rows = _rows_of(raw.key[1], found.key[1], file, found.key[0])
        told += f", by `{found.key[0]}`"
        if (left := len(label) - len(set(rows))) > 0:
            told += f" ({left:,} further rows are not used)"
        label = label[np.array(rows)] if isinstance(label, np.ndarray) else label.take(rows)
    elif found.key is not None:
        raise InputError(
            f"names datapoints by '{found.key[0]}', {path.name} does not", file=file,
            remedy=f"Give {path.name} this column, or leave it out of both in the same order",
        )  # fmt: skip
    elif len(label) != n:
        raise InputError(
            f"has {len(label):,} rows, {path.name} has {n:,}", file=file,
            remedy="Give both the same datapoints, or a column with file names",
        )  # fmt: skip
    columns["label"] = label
    kept = [text for text in raw.told if not text.startswith("label =")]
    if raw.either is not None:
        kept.insert(0, f"prediction = `{raw.either}`")
    metadata = {**raw.metadata, LABELS_FILE: str(file)}
    return replace(raw, columns=columns, either=None, told=[told, *kept], metadata=metadata)


def _labels_file(path: Path) -> Path | None:
    """Return the file of the true classes of a prediction file; of two that fit, none is taken."""
    stem = plain(stem_of(path))
    own = {_SCORES.sub(truth, stem) for truth in _TRUTHS}
    own = {*own, *(f"{stem}_{truth}" for truth in _TRUTHS)} - {stem}
    readable = {*PREDICTION_SUFFIXES, *NAMED_SUFFIXES}
    files = [one for one in sorted(path.parent.iterdir()) if suffix_of(one) in readable]
    stems = {one: plain(stem_of(one)) for one in files if one.is_file()}
    for wanted in (own - {*_TRUTHS}, {*_TRUTHS}):
        found = [one for one, name in stems.items() if name in wanted and one != path]
        if len(found) > 1:
            raise InputError(
                f"has no true classes, and beside it are {listed(one.name for one in found)}",
                file=path, remedy="Keep the one that holds its true classes",
            )  # fmt: skip
        if found:
            return found[0]
    return None


def _rows_of(wanted: Column, there: Column, file: Path, field: str) -> list[int]:
    """Return the row of each wanted key."""
    keys, ours = (key_texts(as_list(column)) for column in (there, wanted))
    fold, _ = common_fold(ours, keys)
    keys, ours = [*map(fold, keys)], [*map(fold, ours)]
    position = {key: row for row, key in enumerate(keys)}
    if len(position) < len(keys):
        raise InputError(
            f"{len(keys) - len(position):,} rows repeat another's", file=file, field=field,
            remedy="Give each datapoint one row",
        )  # fmt: skip
    missing = [key for key in ours if key not in position]
    if missing:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        raise InputError(
            f"has no row of '{missing[0]:.100}'{more}", file=file, field=field,
            remedy="Give every datapoint its true class",
        )  # fmt: skip
    return [position[key] for key in ours]
