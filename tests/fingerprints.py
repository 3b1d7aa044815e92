"""Golden fingerprints: results of everything that expensive stages are made of, on tiny inputs.

    python tests/fingerprints.py

Training, inference and datasets are not repeated when the library is edited, but when somebody
raises the version of the stage. `tests/unit/test_versions.py` compares the results with those
in `tests/data/fingerprints.json`, so that a changed result cannot slip; this command writes the
file anew, and refuses to where a result has changed and its version has not. With --same-version
it does so all the same, for changes of this file or of results that nobody can have.

A fingerprint has, of each array of numbers, mean, standard deviation and projections on fixed
directions, and a digest of what is text. Numbers are compared with a tolerance, as processors and
versions of torch differ in the last bits. Mixed precision has none for that reason.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from golden.datasets import of_derivation, of_kind
from golden.images import (
    LIBRARY_TRANSFORMS,
    RESIZES,
    TESTED_INTERPOLATIONS,
    of_corruption,
    of_interpolation,
    of_library_transform,
    of_normalization,
    of_resize,
)
from golden.training import (
    of_algorithm,
    of_architecture,
    of_augmentation,
    of_decay,
    of_loss,
    of_optimizer,
    of_schedule,
    of_training_normalization,
)
from golden.values import Fingerprint, differs
from matcheval.datasets.corruptions import CORRUPTION_VERSION
from matcheval.datasets.corruptions.applying import CORRUPTIONS
from matcheval.datasets.derived import DERIVATION_VERSION
from matcheval.datasets.derived import KINDS as DERIVATIONS
from matcheval.datasets.kinds import KINDS
from matcheval.inference import INFERENCE_VERSION
from matcheval.models.sizes import ARCHITECTURES
from matcheval.models.transforms import NORMALIZATIONS
from matcheval.training import AUGMENTATIONS, DECAYED, LOSSES, SCHEDULES, TRAINING_VERSION
from matcheval.training import NORMALIZATIONS as TRAINING_NORMALIZATIONS
from matcheval.training.options import ALGORITHMS, OPTIMIZERS

FILE = Path(__file__).parent / "data" / "fingerprints.json"

_TRAINING = {"training.TRAINING_VERSION": TRAINING_VERSION}
_INFERENCE = {"inference.INFERENCE_VERSION": INFERENCE_VERSION}
_BUILT = tuple(name for name, kind in KINDS.items() if kind.has_images)

# What there is: names, the function, and the constants to raise when a result has changed.
GROUPS: dict[str, tuple[Iterable[str], Callable[[str], Fingerprint], dict[str, int]]] = {
    "architecture": (ARCHITECTURES, of_architecture, _TRAINING | _INFERENCE),
    "loss": (LOSSES, of_loss, _TRAINING),
    "augmentation": (AUGMENTATIONS, of_augmentation, _TRAINING),
    "schedule": (SCHEDULES, of_schedule, _TRAINING),
    "optimizer": (OPTIMIZERS, of_optimizer, _TRAINING),
    "algorithm": (ALGORITHMS, of_algorithm, _TRAINING),
    "weight_decay_on": (DECAYED, of_decay, _TRAINING),
    "training_normalization": (TRAINING_NORMALIZATIONS, of_training_normalization, _TRAINING),
    "derivation": (
        DERIVATIONS, of_derivation, {"datasets.derived.DERIVATION_VERSION": DERIVATION_VERSION}
    ),
    "corruption": (
        CORRUPTIONS, of_corruption,
        {"datasets.corruptions.CORRUPTION_VERSION": CORRUPTION_VERSION},
    ),
    "resize": (RESIZES, of_resize, _INFERENCE),
    "interpolation": (TESTED_INTERPOLATIONS, of_interpolation, _INFERENCE),
    "normalization": (NORMALIZATIONS, of_normalization, _INFERENCE),
    "library_transform": (LIBRARY_TRANSFORMS, of_library_transform, _INFERENCE),
    **{
        f"kind {name}": ((name,), of_kind, {f"builder_version of {KINDS[name].__name__}":
                                            KINDS[name].builder_version})
        for name in _BUILT
    },
}  # fmt: skip
NAMES = [(group, name) for group, (names, _, _) in GROUPS.items() for name in names]


def present(group: str, name: str) -> Fingerprint:
    """The fingerprint of a result as it is now, with the versions of its stages."""
    _, function, versions = GROUPS[group]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {"versions": versions, **function(name)}
    finally:
        torch.set_num_threads(threads)


def stored() -> dict[str, Fingerprint]:
    """The fingerprints on file, by group and name."""
    known: dict[str, Fingerprint] = json.loads(FILE.read_text()) if FILE.is_file() else {}
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the golden fingerprints anew.")
    parser.add_argument("--same-version", action="store_true", help="see above")
    allowed = parser.parse_args().same_version
    old, new, refused = stored(), {}, []
    for group, name in NAMES:
        key = f"{group}/{name}"
        found, known = present(group, name), old.get(key)
        changed = known is None or differs(found, known)
        if known is not None and not changed and found["versions"] == known["versions"]:
            found = known  # no change of last bits
        elif known is not None and changed:
            same = [k for k, v in found["versions"].items() if v == known["versions"].get(k)]
            refused += [f"{key} has changed: raise {' and '.join(same)}"] if same else []
        new[key] = found
    if refused and not allowed:
        sys.exit("\n".join(refused))
    lines = [f"{json.dumps(key)}: {json.dumps(new[key])}" for key in new]
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
