"""Rule plot_model_outputs: a figure of the confidences or features of one model on a suite."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from matcheval.accuracy_prediction.figures.outputs import (
    BASE,
    Features,
    plot_confidences,
    plot_features,
)
from matcheval.accuracy_prediction.output_files import OutputFiles, average
from matcheval.accuracy_prediction.scores.features import features_of
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs
from matcheval.accuracy_prediction.scoring import SuiteReader
from matcheval.datasets.suites import Suite
from matcheval.errors import unknown_name_error
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figure

MAX_IMAGES = 500  # of a set


def main(
    *,
    kind: str,
    options: Mapping[str, Any],
    suite: Suite,
    base: str,
    members: Sequence[str],
    files: OutputFiles,
    classes: Sequence[str] | Path,
    rule: ClassRule,
    outputs: Sequence[Path],
) -> None:
    """Write a figure."""

    def read(name: str) -> Outputs:
        found = {member: files.read(name, member) for member in members}
        return found[members[0]] if len(found) == 1 else average(found, options["model"], name)

    reader = SuiteReader(read(base), classes, rule)
    if kind == "confidences":
        (member,) = (m for m in suite.members if m.dataset == options["dataset"])
        sides = reader.sides(member, read(member.dataset))
        named = dict(zip((base, member.dataset), sides, strict=True))
        save_figure(plot_confidences(options["model"], named), *outputs)
        return
    wanted = options["class_name"]
    if wanted not in reader.classes:
        raise unknown_name_error("class", wanted, reader.classes, file="configuration")
    label = list(reader.classes).index(wanted)
    parts: dict[str, list[Features]] = {BASE: [_some(reader.base, label, base)]}
    for member in suite.members:
        if options["group"] in (None, member.group):
            name = getattr(member, options["by"])
            parts.setdefault(name, []).append(_some(read(member.dataset), label, member.dataset))
    features = {name: np.concatenate(found) for name, found in parts.items()}
    save_figure(plot_features(options["model"], wanted, features), *outputs)


def _some(outputs: Outputs, label: int, name: str) -> Features:
    """Return the features of at most 500 images of a class, drawn by the name of the set."""
    features = features_of(outputs)
    if outputs.labels is None:
        return features[:0]
    labels = outputs.labels if outputs.labels.ndim == 2 else outputs.labels[:, None]
    own = np.flatnonzero((labels == label).any(axis=1))
    drawn = np.random.default_rng(crc32(name.encode())).permutation(own)[:MAX_IMAGES]
    found: Features = features[np.sort(drawn)]
    return found


if __name__ == "__main__":
    run_script(main, snakemake)
