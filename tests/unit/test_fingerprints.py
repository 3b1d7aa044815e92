"""Results of training, inference and datasets have not changed without a decision."""

import copy

import numpy as np
import pytest

import fingerprints
from fingerprints import GROUPS, NAMES, present, stored
from golden.values import differs, fingerprint
from matcheval.models.transforms import _WORDS

STORED = stored()


@pytest.mark.parametrize(("group", "name"), NAMES, ids=[f"{g}-{n}" for g, n in NAMES])
def test_results_are_those_of_the_version(group, name):
    known, found = STORED.get(f"{group}/{name}"), present(group, name)
    constants = " and ".join(GROUPS[group][2])
    write = "enter it with 'python tests/fingerprints.py'"
    assert known is not None, f"{group} '{name}' has no fingerprint: {write}"
    assert not differs(found, known) or found["versions"] != known["versions"], (
        f"{group} '{name}' gives other results than before. If that is meant, raise {constants}, "
        f"so that what depends on it is made again, and {write}"
    )
    assert found["versions"] == known["versions"], f"{constants}: another version; {write}"
    assert not differs(found, known), f"{group} '{name}' gives other results; {write}"


def test_every_fingerprint_is_of_something():
    assert set(STORED) == {f"{group}/{name}" for group, name in NAMES}
    assert set(fingerprints.RESIZES) == {"none", *_WORDS}


def test_last_bits_do_not_count_and_changes_do():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000)
    known = fingerprint([values])
    assert not differs(fingerprint([values * (1 + 1e-6 * rng.normal(size=1000))]), known)
    assert differs(fingerprint([values * 1.001]), known)
    assert differs(fingerprint([values + 0.001]), known)
    assert differs(fingerprint([rng.permutation(values)]), known)
    swapped = copy.copy(values)
    swapped[[0, 1]] = swapped[[1, 0]]
    assert differs(fingerprint([swapped]), known)
    assert differs(fingerprint([values], "b"), known)
    assert differs(fingerprint([values, values]), known)


def test_a_changed_result_is_not_entered_without_a_new_version(monkeypatch, tmp_path, capsys):
    names = [("schedule", "cosine")]
    monkeypatch.setattr(fingerprints, "NAMES", names)
    monkeypatch.setattr(fingerprints, "FILE", tmp_path / "data" / "f.json")
    monkeypatch.setattr("sys.argv", ["fingerprints.py"])
    fingerprints.main()
    before = fingerprints.FILE.read_bytes()
    fingerprints.main()
    assert fingerprints.FILE.read_bytes() == before
    versions = {"training.TRAINING_VERSION": 2}
    linear = lambda name: fingerprint([np.linspace(1, 0, 50)] * 2)  # noqa: E731
    monkeypatch.setitem(GROUPS, "schedule", (("cosine",), linear, versions))
    with pytest.raises(SystemExit, match=r"schedule/cosine has changed: raise training\.TRAINING"):
        fingerprints.main()
    assert fingerprints.FILE.read_bytes() == before
    monkeypatch.setitem(versions, "training.TRAINING_VERSION", 3)
    fingerprints.main()
    assert stored()["schedule/cosine"]["versions"] == versions
