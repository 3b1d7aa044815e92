"""How much of a gap is label error: gaps with the given labels, and with audited ones.

Northcutt et al. (2021), arXiv 2103.14749; Beyer et al. (2020), arXiv 2006.07159. Matching does not
look at labels, so that the same datapoints are matched.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.analyses.calibration import RowsOfSets, all_and_matched_rows, figure_height
from matcheval.datasets.folders import DATAPOINTS_SCHEMA
from matcheval.downloads.sources import published_file, verify_file
from matcheval.errors import InputError, configuration_error
from matcheval.figures import style
from matcheval.figures.forms import Series, drawing, intervals, name_rows, panels
from matcheval.io.array_archives import UNREADABLE
from matcheval.io.files import readable
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, fraction, interval, text
from matcheval.io.text_tables import counted, level_text, with_interval
from matcheval.io.user_files import check_columns, read_numbered_rows
from matcheval.predictions.records import MAX_CLASSES, Predictions
from matcheval.protocol.analysis import PairTableAnalysis, PairTableSettings
from matcheval.protocol.compared_models import MATCHED_MODEL, MIN_PAIRS, ComparedModels
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import matching_label
from matcheval.settings import DatasetName, PathText
from matcheval.statistics.intervals import normal_quantile, wilson
from matcheval.study.rules import Wildcards

# --- audited labels: the classes that a later look at the images found in each, if any. Published
# audits are in `downloads/sources.yaml`, and have formats of their own; people's own are CSV files.

PUBLISHED = {  # files by the name of the audit
    "cifar10h": "cifar10h-counts.npy",  # Peterson et al. 2019, arXiv 1908.07086
    "cifar10-label-errors": "cifar10_mturk.json",  # Northcutt et al. 2021, arXiv 2103.14749
    "real": "real.json",  # Beyer et al. 2020, arXiv 2006.07159
}
SUFFIXES = (".csv", ".json", ".npy")
_FORMATS = (
    "Give all images' counts of each class (.npy) or lists of right classes (.json), or a row per "
    "image and right class (.csv)"
)
_NUMBERED = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG$")
_CLASSES = range(MAX_CLASSES)
_LEAST_KEPT = 0.5  # of given labels; fewer say that the order is another one

Entries = Iterable[tuple[int, Sequence[int]]]  # position of an image, and its right classes


@dataclass(frozen=True)
class AuditedLabels:
    """The classes that an audit found right for each datapoint of a set; none where undecided."""

    is_right: npt.NDArray[np.bool_]  # shape (n, n_classes)

    @cached_property
    def decided(self) -> npt.NDArray[np.bool_]:
        """Whether the audit found a right class, by datapoint; shape (n,)."""
        return np.asarray(self.is_right.any(axis=1))

    def accept(self, classes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return whether the audit finds each datapoint's given class right; shape (n,)."""
        in_audit = classes < self.is_right.shape[1]
        return in_audit & self.is_right[np.arange(len(classes)), np.where(in_audit, classes, 0)]


def read_audit(
    path: Path, predictions: Predictions, names: Sequence[str] | None = None
) -> AuditedLabels:
    """Read from an audit file which classes are right for each datapoint of `predictions`.

    A `.npy` file says how many annotators chose each class, a row per image; classes with the most
    are right. A `.json` file lists the classes of each image, or images that five people compared
    with their label and another. A `.csv` file has columns `label`, and `index` or `name`: a row
    per class of an image, and an empty label if it shows none; others keep their label. `names` are
    those of all images, by position.
    """
    errors = (*UNREADABLE, LookupError, AttributeError)
    with readable(path, f"an audit as {path.suffix}", *errors, remedy=_FORMATS):
        entries: Entries
        if path.suffix == ".csv":
            entries, keeps = _classes_from_csv(path, names), True
        elif path.suffix == ".npy":
            with path.open("rb") as file:
                entries, keeps = _most_chosen_classes(np.lib.format.read_array(file)), False
        else:
            images = json.loads(path.read_bytes())
            if not isinstance(images, list) or not images:
                raise ValueError("no list of images")
            keeps = isinstance(images[0], dict)
            entries = (
                _voted_classes(images, predictions) if keeps else _listed_classes(images, names)
            )
        audit = AuditedLabels(_right_class_mask(predictions, dict(entries), keeps))
    kept = audit.accept(predictions.label)[audit.decided]
    if not len(kept) or kept.mean() < _LEAST_KEPT:
        problem = f"accepts the given label of {kept.sum():,} of the {len(kept):,} datapoints"
        remedy = "Is it of this dataset, and in its order?"
        raise InputError(f"{problem} it decides", file=path, remedy=remedy)
    return audit


def _right_class_mask(
    predictions: Predictions, classes: Mapping[int, Sequence[int]], keeps_label: bool
) -> npt.NDArray[np.bool_]:
    """Return a mask of right classes; a datapoint without entry keeps its label, or is an error."""
    labels = _labels_by_index(predictions)
    missing = [at for at in labels if at not in classes]
    if missing and (not keeps_label or len(missing) == len(labels)):
        raise ValueError(f"no entry of {len(missing):,} datapoints, such as {missing[0]}")
    rows = {at: classes.get(at, (label,)) for at, label in labels.items()}
    for at, row in rows.items():
        is_list = isinstance(row, list | tuple)
        if not is_list or not all(type(number) is int and number in _CLASSES for number in row):
            raise ValueError(f"datapoint {at}: {row!r:.60} are not classes in 0..{_CLASSES[-1]}")
    n_classes = 1 + max(max(row, default=0) for row in rows.values())
    is_right = np.zeros((len(rows), n_classes), np.bool_)
    for mask, row in zip(is_right, rows.values(), strict=True):
        mask[list(row)] = True
    return is_right


def _labels_by_index(predictions: Predictions) -> dict[int, int]:
    return dict(zip(predictions.index.tolist(), predictions.label.tolist(), strict=True))


def _most_chosen_classes(counts: npt.NDArray[Any]) -> Entries:
    """Yield each image's most chosen class, from counts of shape (n, n_classes); all that tie."""
    if counts.ndim != 2 or counts.dtype.kind not in "iuf":
        raise ValueError(f"shape {counts.shape} and type {counts.dtype}, not counts of classes")
    bad = ~(counts >= 0).all(axis=1)  # NaN, too
    if bad.any():
        raise ValueError(f"row {bad.argmax()} has counts that are negative or NaN")
    is_most = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return enumerate(np.flatnonzero(row).tolist() for row in is_most)


def _listed_classes(class_lists: Sequence[Sequence[int]], names: Sequence[str] | None) -> Entries:
    """Number lists of classes by image: in order, or by the number in ImageNet file names."""
    numbers = [_NUMBERED.search(name) for name in names or ()]
    if numbers and all(numbers):
        return enumerate(class_lists[int(match[1]) - 1] for match in numbers if match)
    return enumerate(class_lists)


def _voted_classes(
    images: Sequence[dict[str, Any]], predictions: Predictions
) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the classes that most of five people chose, if any (Northcutt et al. 2021, § 4)."""
    labels = _labels_by_index(predictions)
    for entry in images:
        votes, label = entry["mturk"], entry["given_original_label"]
        if labels.get(entry["id"], label) != label:  # few entries: shares say nothing of the order
            raise ValueError(
                f"image {entry['id']} had label {label}, not {labels[entry['id']]}: "
                "is it of this dataset, and in its order?"
            )
        guessed = entry["our_guessed_label"]
        classes = {"given": (label,), "guessed": (guessed,), "both": (label, guessed)}
        most = max(votes, key=votes.__getitem__)
        is_majority = 2 * votes[most] > sum(votes.values())
        yield entry["id"], classes.get(most, ()) if is_majority else ()


def _classes_from_csv(path: Path, names: Sequence[str] | None) -> Entries:
    """Read the right classes of images, which a user's CSV file gives by `index` or `name`."""
    header, rows = read_numbered_rows(path)
    check_columns(header, ("label",), path)
    key = "index" if "index" in header else "name"
    if key not in header or (key == "name" and names is None):
        raise InputError(
            "has no column 'index'" + ("" if names is None else ", nor 'name'"), file=path,
            remedy="Name datapoints by their position or, if they are images, by their name",
        )  # fmt: skip
    positions = range(len(names) if names else np.iinfo(np.int32).max)
    at = {name: position for position, name in enumerate(names or ())}
    classes: dict[int, list[int]] = {}
    for number, row in rows:
        image, label = row[key], row["label"]
        try:
            position = positions.index(int(image)) if key == "index" else at[image]
            classes.setdefault(position, []).extend([_CLASSES.index(int(label))] if label else [])
            if len(row) > len(header) or label is None:
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            more = " and more" * (len(row) > len(header))
            problem = f"line {number}: '{image!s:.60}' with label '{label!s:.60}'{more}"
            remedy = "Give an image of the dataset, and one class as a number from 0, or nothing"
            raise InputError(problem, file=path, remedy=remedy) from error
    return classes.items()


# --- the analysis

_COUNTS = {
    "n": "datapoints whose class the audits decide, mean over seeds, as the next two",
    "undecided": "datapoints that are left out",
    "relabelled": "datapoints, of the n, whose given class is not among those of the audit",
}
_ACCURACIES = {"accuracy": "by the given labels, of the n", "audited_accuracy": "by the audited"}

SCHEMA = TableSchema(
    "gaps by given and by audited labels",
    *MATCHED_MODEL,
    *(
        Column(f"{name}_{origin}", pa.float64(), "datapoints", meaning)
        for name, meaning in _COUNTS.items() for origin in style.SETS
    ),
    *(
        fraction(f"{name}_{origin}", meaning)
        for name, meaning in _ACCURACIES.items() for origin in style.SETS
    ),
    fraction("gap", "accuracy_original minus accuracy_replication"),
    fraction("audited_gap", "the same by the audited labels"),
    fraction("change", "audited_gap minus gap: minus what label errors add to the gap"),
    *interval("change"),
    text("reason", "why values are NaN; empty if none is"),
    CONFIDENCE_LEVEL,
    shown={
        "Model": "{model}", "Matching": "{matching}",
        **{f"Undecided, {origin}": f"{{undecided_{origin}:,.0f}}" for origin in style.SETS},
        **{f"Relabelled, {origin}": f"{{relabelled_{origin}:,.0f}}" for origin in style.SETS},
        "Gap": "{gap:+.2%}", "By audited labels": "{audited_gap:+.2%}",
        "Change (points)": with_interval("change", "+.2%"),
    },
)  # fmt: skip


def tabulate(compared: ComparedModels, *, audits: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate every model's gap by given and by audited labels, on all and on matched datapoints.

    `audits` are the arguments of `_read_audit_of_set` by origin; a set without keeps its labels.
    """
    first, level = compared.comparisons[0], compared.pair.confidence
    audited = {
        origin: _read_audit_of_set(getattr(first, origin), **audits[origin])
        for origin in style.SETS if origin in audits
    }  # fmt: skip
    rows = [
        identity | {"confidence": level}
        | _gap_columns(comparison, audited, picked, level, paired=bool(identity["matching"]))
        for comparison, identity, picked in all_and_matched_rows(compared)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _read_audit_of_set(
    predictions: Predictions, file: str, datapoints: str | None, published: str | None = None
) -> AuditedLabels:
    """Read the audit of one set; the file of a published one must have the known checksum."""
    if published:  # the file may have been put there by hand
        verify_file(Path(file), published_file(published).expected)
    names = datapoints and DATAPOINTS_SCHEMA.read(Path(datapoints))["name"].to_pylist()
    return read_audit(Path(file), predictions, names or None)


def _gap_columns(
    comparison: Comparison, audits: Mapping[str, AuditedLabels], picked: RowsOfSets, level: float,
    *, paired: bool,
) -> dict[str, Any]:  # fmt: skip
    """Compute the gap between the picked rows of both sets by given and by audited labels.

    Undecided datapoints are left out; if `paired`, with the datapoints that they match. The
    interval combines Wilson's intervals of the shares of datapoints that become right, and wrong,
    on each set (Zou & Donner 2008, Statistics in Medicine 27). Datapoints are taken as independent,
    and matched ones as if matched once.
    """
    kept = {
        origin: [audits[origin].decided[rows] if origin in audits else np.full(len(rows), True)
                 for rows in rows_by_seed]
        for origin, rows_by_seed in picked.items()
    }  # fmt: skip
    if paired:
        both_decided = [a & b for a, b in zip(*kept.values(), strict=True)]
        kept = dict.fromkeys(kept, both_decided)
    n = {origin: float(np.mean([mask.sum() for mask in masks])) for origin, masks in kept.items()}
    row: dict[str, Any] = {f"n_{origin}": size for origin, size in n.items()}
    if min(n.values()) < MIN_PAIRS:
        return row | {"reason": f"fewer than {MIN_PAIRS} datapoints"}
    below = above = 0.0
    for origin, sign in zip(style.SETS, (1, -1), strict=True):
        side, masks = getattr(comparison, origin), kept[origin]
        rows = np.concatenate([r[m] for r, m in zip(picked[origin], masks, strict=True)])
        before = after = side.correct[rows]
        relabelled = 0.0
        if origin in audits:
            after = audits[origin].accept(side.prediction)[rows]
            relabelled = float((~audits[origin].accept(side.label)[rows]).sum())
            shares = float((after & ~before).mean()), float((before & ~after).mean())
            # Minus twice their covariance, by z² as the squares of the widths are.
            joint = normal_quantile(level) ** 2 * 2 * shares[0] * shares[1] / n[origin]
            below, above = below + joint, above + joint
            for p, way in zip(shares, (sign, -sign), strict=True):
                low, high = wilson(p, n[origin], level)
                ends = (p - low, high - p)[::way]
                below, above = below + ends[0] ** 2, above + ends[1] ** 2
        row |= {
            f"undecided_{origin}": np.mean([(~mask).sum() for mask in masks]),
            f"relabelled_{origin}": relabelled / len(masks),
            f"accuracy_{origin}": before.mean(), f"audited_accuracy_{origin}": after.mean(),
        }  # fmt: skip
    gap, audited = (
        float(row[f"{name}_original"] - row[f"{name}_replication"]) for name in _ACCURACIES
    )
    change = audited - gap
    return row | {
        "gap": gap, "audited_gap": audited, "change": change, "reason": "",
        "change_low": change - below**0.5, "change_high": change + above**0.5,
    }  # fmt: skip


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot how audited labels change every model's gap, on all and on matched datapoints."""
    names = table["matching"].unique()
    order = table[table["matching"] == ""].sort_values("change", kind="stable")["model"]
    size = style.COLUMN_WIDTH * (0.4 + 0.6 * len(names)), figure_height(len(order))
    title = f"{table['pair'].iloc[0]}: gaps by audited labels, {counted(len(order), 'model')}"
    note = f"Bars: {level_text(table['confidence'].iloc[0])} intervals."
    with drawing(*size, title, note) as figure:
        axes = panels(figure, len(names), len(names))
        for panel, name in zip(axes, names, strict=True):
            rows = table[table["matching"] == name].set_index("model").loc[order]
            look = style.MATCHED_GAP if name else style.GAP
            intervals(panel, rows, [Series("change", look)])
            style.draw_zero(panel, upright=True)
            panel.set_title(matching_label(name) if name else "all datapoints")
            gap, audited = 100 * rows["gap"].mean(), 100 * rows["audited_gap"].mean()
            panel.set_xlabel(f"Change (points); mean gap {gap:.2f} to {audited:.2f}")
        name_rows(axes[0], order.tolist(), "Model, by increasing change")
    return figure


class LabelAuditsSettings(PairTableSettings):
    """Pairs whose gaps are measured by audited labels, too, and the audits."""

    labels: dict[DatasetName, PathText] = Field(
        {}, description="By dataset: cifar10h, cifar10-label-errors, real, or your file"
    )


class LabelAudits(PairTableAnalysis):
    """Measure how much a gap changes when audited labels replace the given ones."""

    name: ClassVar[str] = "label_audits"
    caption: ClassVar[str] = (
        "Gaps of **{{ snakemake.wildcards.pair }}** by the given labels and by audited ones, on "
        "the datapoints whose class the audits decide. Where only one set is audited, the change "
        "is that of its labels alone, and the other set's errors stay. Intervals take datapoints "
        "as independent, also of groups and of paired images."
    )
    Settings: ClassVar[type[LabelAuditsSettings]] = LabelAuditsSettings
    settings: LabelAuditsSettings
    has_figure: ClassVar[bool] = True

    def check(self) -> None:
        """Check that every pair has an audit, and that each audit is published or a file."""
        super().check()
        pairs = [self.study.pairs[name] for name in self.settings.pairs]
        for dataset, audit in self.settings.labels.items():
            field = self.field("labels", dataset)
            if pairs and not any(dataset in pair.datasets.values() for pair in pairs):
                problem = f"'{dataset}' is in none of the pairs"
                remedy = "Name a pair with it under `pairs`, or leave it out"
                raise configuration_error(problem, field=field, remedy=remedy)
            if audit in PUBLISHED:
                continue
            if not audit.endswith(SUFFIXES):
                problem = f"'{audit}' is neither a known audit nor a file"
                remedy = f"Name {', '.join(PUBLISHED)}, or a file {', '.join(SUFFIXES)}"
                raise configuration_error(problem, field=field, remedy=remedy)
            spec = self.study.datasets.get(dataset)
            key = ("index",) if spec and not spec.has_images else ()  # of images, or `name`
            self.check_file(audit, field, (*key, "label") if audit.endswith(".csv") else ())
        for pair in self.settings.pairs:
            if not self._audits(pair):
                problem = f"neither set of '{pair}' has audited labels"
                remedy = "Name a file of them for a set of the pair"
                raise configuration_error(problem, field=self.field("labels"), remedy=remedy)

    @property
    def published_files(self) -> list[str]:
        """Names of the files of published audits, which are downloaded."""
        names = {name for pair in self.settings.pairs for name in self._audits(pair).values()}
        return sorted(PUBLISHED[name] for name in names if name in PUBLISHED)

    def _audits(self, pair: str) -> dict[str, str]:
        """Return the audits (known names or files) of a pair's audited sets, by origin."""
        labels, datasets = self.settings.labels, self.study.pairs[pair].datasets
        return {origin: labels[name] for origin, name in datasets.items() if name in labels}

    def _file_of_audit(self, audit: str) -> str:
        return self.study.download_path(PUBLISHED[audit]) if audit in PUBLISHED else audit

    @property
    def runs_per_seed(self) -> int:
        """2, because each run is measured by the given labels and by the audited ones."""
        return 2

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the prediction files of a pair and the files of its audits."""
        audits = self._audits(wildcards.pair).values()
        return [*super().inputs(wildcards), *map(self._file_of_audit, audits)]

    def subject_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the argument `audits` of `tabulate`."""
        groups = self.arguments(wildcards)["files"]["groups"]
        audits = {
            origin: {
                "file": self._file_of_audit(audit), "datapoints": groups[origin]["datapoints"],
                "published": PUBLISHED.get(audit),
            }
            for origin, audit in self._audits(wildcards.pair).items()
        }  # fmt: skip
        return {"audits": audits}
