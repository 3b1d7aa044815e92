"""Results of training, inference and datasets have not changed without a decision."""

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
    for other in (values * 1.001, rng.permutation(values)):
        assert differs(fingerprint([other]), known)
    assert differs(fingerprint([values], "b"), known)
