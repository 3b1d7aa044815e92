"""Cases with known results, from the specification; tests are skipped where they are missing."""

import json

import pytest

from image_sets import SHARED

VECTORS = SHARED / "spec" / "vectors"


def case(file: str, name: str) -> dict:
    """One case: its inputs, expected results and tolerance."""
    return next(case for case in _content(file)["cases"] if case["id"] == name)


def shared(file: str) -> dict:
    """The inputs that the cases of a file share."""
    return _content(file)["shared"]


def _content(file: str) -> dict:
    path = VECTORS / f"{file}.json"
    if not path.is_file():
        pytest.skip(f"no test vectors at {path}; MATCHEVAL_SHARED names the folder above spec/")
    return json.loads(path.read_text(encoding="utf-8"))
