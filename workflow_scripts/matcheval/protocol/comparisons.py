"""A comparison: one model's predictions on a pair of sets, and the blocks that these consist of.

Two properties of a set are kept apart: its *origin* (original or replication) is fixed by the
study; its *role* (source or target) is the one it has in the matching.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.folders import DATAPOINTS_SCHEMA
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError, configuration_error
from matcheval.names import ORIGINS
from matcheval.predictions.datapoints import (
    GROUP,
    Numbers,
    Texts,
    common_copies,
    groups_of,
    read_group_file,
)
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import PREDICTIONS, Predictions
from matcheval.predictions.suspicions import check_same_model, suspicions, suspicions_of_sets


@dataclass(frozen=True)
class Comparison:
    """One model's predictions on both sets of a pair: one is the source, the other the target."""

    model: str
    pair: Pair
    original: Predictions
    replication: Predictions

    def __post_init__(self) -> None:
        """Check that the pair's source is one of its sets, and that one model predicts both."""
        _ = self.source_is_original
        check_same_model(
            self.original.metadata,
            self.replication.metadata,
            (f"the predictions on {self.pair.original}", f"those on {self.pair.replication}"),
            self.model,
        )

    @property
    def source_is_original(self) -> bool:
        """Whether the original set is the source."""
        return self.pair.source_is_original(len(self.original), len(self.replication))

    @property
    def source(self) -> Predictions:
        """Predictions on the source set."""
        return self.original if self.source_is_original else self.replication

    @property
    def target(self) -> Predictions:
        """Predictions on the target set."""
        return self.replication if self.source_is_original else self.original

    @property
    def source_name(self) -> str:
        """Name of the source set."""
        return self.pair.original if self.source_is_original else self.pair.replication

    @property
    def target_name(self) -> str:
        """Name of the target set: the replication, or the original if that is the target."""
        return self.pair.replication if self.source_is_original else self.pair.original

    @property
    def gap(self) -> float:
        """Accuracy on the original minus accuracy on the replication."""
        return float(self.original.correct.mean() - self.replication.correct.mean())

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Names of the sets on which all predictions are right or all are wrong; source first."""
        sets = {self.source_name: self.source.correct, self.target_name: self.target.correct}
        return tuple(name for name, right in sets.items() if right.all() or not right.any())


_KEY = "warnings"
MANY_UNMATCHED = 0.5  # share of targets without a match above which it is told


def suspicions_of(comparison: Comparison) -> list[str]:
    """Say what looks wrong about a model's predictions on a pair."""
    original, replication = comparison.original, comparison.replication
    names, suspicious = [*comparison.pair.datasets.values()], list[str]()
    for name, side in zip(names, (original, replication), strict=True):
        texts = suspicions(side.label, side.prediction, side.probability, side.metadata)
        suspicious += [f"{name}: {text}" for text in texts]
    if all(
        np.array_equal(getattr(original, column), getattr(replication, column))
        for column in PREDICTIONS.names
    ):
        suspicious.append("both sets hold the same predictions: is a file compared with itself?")
    elif not np.intersect1d(original.label, replication.label).size:
        labels = original.label, replication.label
        ranges = [f"{label.min()} to {label.max()}" for label in labels]
        suspicious.append(f"no label occurs in both sets; labels are {' and '.join(ranges)}")
    else:
        suspicious += suspicions_of_sets(original, replication, names)
    return suspicious


def with_suspicions(table: pa.Table, suspicious: Iterable[tuple[str, str]]) -> pa.Table:
    """Return a table with suspicions, (model, sentence) each, in its metadata, if there are any."""
    listed = list(dict.fromkeys(suspicious))
    if not listed:
        return table
    metadata = dict(table.schema.metadata or {}) | {_KEY: json.dumps(listed, ensure_ascii=False)}
    return table.replace_schema_metadata(metadata)


def suspicions_in(tables: Iterable[pa.Table]) -> list[tuple[str, str]]:
    """Read suspicions, (model, sentence) each, from the metadata of tables, without repeats."""
    suspicious: list[tuple[str, str]] = []
    for table in tables:
        text = (table.schema.metadata or {}).get(_KEY.encode(), b"[]")
        suspicious += [(model, sentence) for model, sentence in json.loads(text)]
    return list(dict.fromkeys(suspicious))


# --- what is drawn as a whole when sets are resampled: datapoints, images in both sets, or groups


_CHUNK = 4_000_000  # draws that are held at once: 32 MB

Groups = Texts | Numbers | None  # as they are given; numbers of copies; None without either
Draws = npt.NDArray[np.uint8]  # how often each block is drawn: shape (n_blocks, n_resamples)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The block of every datapoint of two sets; datapoints of a block are resampled together.

    Blocks are numbered from 0 on each side, or over both sides if joint.
    """

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    n_source: int
    n_target: int
    joint: bool
    grouped: bool = False

    @property
    def n(self) -> int:
        """Number of blocks in the set that has fewer."""
        return min(self.n_source, self.n_target)

    @property
    def is_grouped_on_one_side(self) -> bool:
        """Whether only one of the sets has groups."""
        alone = self.n_source == len(self.source), self.n_target == len(self.target)
        return self.grouped and not self.joint and alone[0] != alone[1]

    def resamples(self, n: int, generator: np.random.Generator) -> Iterator[tuple[Draws, Draws]]:
        """Draw `n` bootstrap resamples in chunks; yield how often each block is in each of them."""
        step = max(1, _CHUNK // max(self.n_source, self.n_target))
        for start in range(0, n, step):
            size = min(step, n - start)
            source = _draw_blocks(size, self.n_source, generator)
            yield source, source if self.joint else _draw_blocks(size, self.n_target, generator)


def datapoints(n_source: int, n_target: int) -> Blocks:
    """Make a block of every single datapoint, for two sets of independent datapoints."""
    return Blocks(np.arange(n_source), np.arange(n_target), n_source, n_target, joint=False)


def paired_images(source: Predictions, target: Predictions) -> Blocks:
    """Make a block of each row, for two sets that show the same images in the same order."""
    if source.datapoints_digest != target.datapoints_digest:
        raise InputError(
            f"sets of {len(source)} and {len(target)} datapoints differ in size, indices or labels",
            remedy="Two sets are paired only if row by row they show the same image",
        )
    rows = np.arange(len(source))
    return Blocks(rows, rows, len(rows), len(rows), joint=True)


def groups(
    source: npt.ArrayLike, target: npt.ArrayLike, *, shared: bool = False
) -> Blocks:  # fmt: skip
    """Make a block of each group (a writer, a video); if `shared`, sets have groups in common."""
    source, target = np.asarray(source), np.asarray(target)
    if shared:
        names, block = np.unique(np.concatenate([source, target]), return_inverse=True)
        source_block, target_block = np.split(block, [len(source)])
        return Blocks(source_block, target_block, len(names), len(names), joint=True, grouped=True)
    source_names, source_block = np.unique(source, return_inverse=True)
    target_names, target_block = np.unique(target, return_inverse=True)
    sizes = len(source_names), len(target_names)
    return Blocks(source_block, target_block, *sizes, joint=False, grouped=True)


def _draw_blocks(n: int, n_blocks: int, generator: np.random.Generator) -> Draws:
    """Draw `n` bootstrap samples of blocks; return how often each block is in each of them."""
    from matcheval.protocol.kernel import count_draws

    # A byte is enough: to draw one of 256 blocks or more 256 times has odds below 1 / 256!.
    counts = np.zeros((n_blocks, n), np.uint8)
    count_draws(generator.integers(n_blocks, size=(n, n_blocks)), counts)
    return counts


@dataclass(frozen=True)
class GroupSource:
    """Where the groups of a set are found: in a file, in names of datapoints, or in predictions."""

    file: Path | None = None
    kind: str = ""
    datapoints: Path | None = None

    def read(self, predictions: Predictions, files: Sequence[Path], layout: Layout) -> Groups:
        """Return each datapoint's group, from the first of these that exists; None without any."""
        names = None
        if self.datapoints is not None:
            names = DATAPOINTS_SCHEMA.read(self.datapoints)["name"].to_pylist()
        if self.file is not None:
            return read_group_file(self.file, predictions.index, names)
        if names is not None:
            if self.kind != "digits":
                return None
            from matcheval.datasets.published import writers

            return np.array(writers([names[i] for i in predictions.index]))
        if not any(map(_may_tell_groups, files)):
            return None
        return groups_of_models([read_predictions(file, layout=layout) for file in files], files)


def _may_tell_groups(file: Path) -> bool:
    """Whether a prediction file may hold groups, or scores that reveal copies; reads no rows."""
    import pyarrow.parquet as pq

    if file.suffix != ".parquet":
        return True
    names = {*pq.read_schema(file).names}
    return GROUP in names or not {"prediction", "probability"} <= names


def groups_of_models(predictions: Collection[Predictions], sources: Sequence[object]) -> Groups:
    """Return the groups that all models' files name alike or, if none does, groups of copies."""
    first, *others = map(groups_of, predictions, sources)
    for other, source in zip(others, sources[1:], strict=True):
        if first is None and other is not None:
            problem = f"names groups; {sources[0]} names none"
        elif first is not None and (other is None or not np.array_equal(first, other)):
            problem = f"names other groups than {sources[0]}, or none"
        else:
            continue
        raise InputError(
            problem, file=source, field="group",
            remedy="All models are tested on the same datapoints, of the same groups",
        )  # fmt: skip
    return common_copies([*predictions]) if first is None else first


def blocks_of_pair(comparison: Comparison, groups_by_origin: Mapping[str, Groups]) -> Blocks | None:
    """Make blocks of a pair's groups or images; None if all datapoints are independent."""
    pair = comparison.pair
    order = 1 if comparison.source_is_original else -1
    source, target = (groups_by_origin[origin] for origin in ORIGINS[::order])
    is_given = [names is not None and names.dtype.kind != "i" for names in (source, target)]
    if pair.groups_shared and not all(is_given):
        raise configuration_error(
            "groups are shared, but not known of both sets", field=f"pairs.{pair.name}",
            remedy="Name a file of each set under `groups`, or leave `groups_shared` out",
        )  # fmt: skip
    images = paired_images(comparison.source, comparison.target) if pair.paired else None
    if pair.paired and not any(is_given):
        if source is None or target is None:
            return images
        source = target = np.unique(np.stack([source, target]), axis=1, return_inverse=True)[1]
    if source is None and target is None:
        return images
    if pair.paired and (source is None or target is None or not np.array_equal(source, target)):
        raise configuration_error(
            "paired images have different groups in the two sets", field=f"pairs.{pair.name}",
            remedy="Give both copies of an image the same group",
        )  # fmt: skip
    if source is None:
        source = np.arange(len(comparison.source)).astype(np.str_)
    if target is None:
        target = np.arange(len(comparison.target)).astype(np.str_)
    return groups(source, target, shared=pair.groups_shared or pair.paired)
