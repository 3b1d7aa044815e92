"""Files of many models, by a pattern that holds `{model}` in the place of the models' names."""

import glob
import re
from pathlib import Path

from matcheval.errors import InputError

MODEL = "{model}"
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
