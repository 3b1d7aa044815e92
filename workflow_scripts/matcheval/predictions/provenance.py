"""Whether prediction files come from the same model, as far as their provenance tells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from matcheval.errors import InputError

# Keys of the metadata in which predictions that are compared must agree, and what they mean.
_KEYS = {
    "model": "the model",
    "n_classes": "the number of classes",
    "classes": "the classes",
    "weights_sha256": "the SHA-256 of the model's weights",
    "transform": "the transform of the images",
    "dtype": "the precision of the model",
}
_PIXEL_RANGE = re.compile(r"uint8 / \d+")  # that of a dataset, which may differ


def check_same_model(
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
    names: tuple[str, str],
    file: object,
) -> None:
    """Check that two files are of one model, run in the same way, where both tell."""
    for key, meaning in _KEYS.items():
        one, other = (
            _PIXEL_RANGE.sub("uint8", d[key]) if key in d else None for d in (ours, theirs)
        )
        if None not in (one, other) and one != other:
            raise InputError(
                f"{meaning} is {ours[key]:.200} in {names[0]}, and {theirs[key]:.200} in "
                f"{names[1]}",
                file=file,
                field=key,
                remedy="Both must come from the same model and label space: predict both sets again"
                " with one model",
            )


@dataclass
class SameModels:
    """Checks that the files of every model, on several datasets, are of one model."""

    _first: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def check(self, model: str, dataset: str, metadata: Mapping[str, str]) -> None:
        """Compare a file of a model with the first one that was checked."""
        first, theirs = self._first.setdefault(model, (dataset, metadata))
        names = (f"the predictions on {first}", f"those on {dataset}")
        check_same_model(theirs, metadata, names, model)
