"""Cases with known results, from the specification; tests are skipped where they are missing."""

import json

import pytest

from cifar import DATA

VECTORS = DATA / "spec" / "vectors"


def case(file: str, name: str) -> dict:
    """One case: its inputs, expected results and tolerance."""
    path = VECTORS / f"{file}.json"
    if not path.is_file():
        pytest.skip(f"no test vectors at {path}; MATCHEVAL_SHARED names the folder above spec/")
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return next(case for case in cases if case["id"] == name)
