"""Files of many models, by a pattern that holds `{model}` in the place of the models' names."""

import glob
import re
from pathlib import Path

from matcheval.errors import InputError
from matcheval.names import MODEL, PREDICTION_SUFFIXES
from matcheval.predictions.formats import stem_of, suffix_of

REMEDY = "Write it where the names of the files differ: 'old/{model}.parquet'"


def check_pattern(pattern: str) -> None:
    """Check that a pattern holds `{model}` once."""
    if pattern.count(MODEL) != 1:
        raise InputError(f"must hold {MODEL} once", file=pattern, remedy=REMEDY)


def files_by_model(pattern: str) -> dict[str, Path]:
    """Return the files of a pattern by the names in the place of `{model}`."""
    before, after = pattern.split(MODEL)
    name = re.compile(re.escape(before) + "([^/]+)" + re.escape(after), re.DOTALL)
    # `{model}` may stand for a folder, which `Path.glob` has no pattern for.
    found = glob.glob(glob.escape(before) + "*" + glob.escape(after))  # noqa: PTH207
    matches = ((name.fullmatch(path), path) for path in sorted(found))
    return {match[1]: Path(path) for match, path in matches if match}


def set_names(original: str, replication: str) -> tuple[str, str] | None:
    """Return what two sets are called by the last part of their patterns that tells them apart."""
    parts = [
        [_without_model(one) for one in reversed(Path(p).parts)] for p in (original, replication)
    ]
    pairs = zip(*parts, strict=False)
    return next(((a, b) for a, b in pairs if a and b and a != b), None)


def _without_model(part: str) -> str:
    """Return a part of a pattern without the model, its suffix and repeated separators."""
    path = Path(part)
    is_file = MODEL in part or suffix_of(path) in PREDICTION_SUFFIXES
    name = (stem_of(path) if is_file else part).replace(MODEL, "")
    return re.sub(r"([-_. ])[-_. ]+", r"\1", name).strip("-_. /")
