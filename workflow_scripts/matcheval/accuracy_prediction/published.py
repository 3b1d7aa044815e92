"""Errors that papers print: shown beside those of a study, used for nothing else.

`published.csv` has them as fractions. p1: Guillory et al. (2021), Table 2, with standard deviations
of which the paper does not say what they are over. p2: Sun et al. (2024), Tables 2 and 6;
method `mean` is the row Avg, over ten methods.
"""

import hashlib
from collections.abc import Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from matcheval.errors import configuration_error

_FILE = Path(__file__).with_suffix(".csv")
Paper = Literal["none", "p1", "p2", "p2_40"]

P1_GROUPS = ("Syn1", "Syn2", "Natural", "Adv")
P2_SUITES = ("C10-Cs", "C10-W")
MEAN = "mean"  # of the methods
SOURCES: Mapping[Paper, str] = {
    "p1": "Guillory et al. (2021), Table 2",
    "p2": "Sun et al. (2024), Table 6",
    "p2_40": "Sun et al. (2024), Table 2",
}
_CLASSIFIERS: Mapping[Paper, str] = {"p1": "", "p2": "70", "p2_40": "40"}


class Key(NamedTuple):
    """What a printed error is of."""

    protocol: str
    calibrated_on: str
    method: str
    group: str
    subgroup: str


class Printed(NamedTuple):
    """A printed mean absolute error, and its standard deviation; NaN if there is none."""

    error: float
    sd: float

    def __str__(self) -> str:
        sd = "" if pd.isna(self.sd) else f" ({100 * self.sd:.2f})"
        return f"{100 * self.error:.2f}{sd}"


@cache
def _table() -> pd.DataFrame:
    texts = dict.fromkeys(("classifiers", "calibrated_on", "suite"), str)
    return pd.read_csv(_FILE, dtype=texts, keep_default_na=False, na_values={"sd": [""]})


def table_digest() -> str:
    """Return a digest of the printed values, which repeats the jobs that show them."""
    return hashlib.sha256(_FILE.read_bytes()).hexdigest()


def published_errors(paper: Paper, suite: str, model: str = "") -> dict[Key, Printed]:
    """Return the errors that a paper prints: means over classifiers, or those of one model."""
    rows = _table()
    of_suite = rows["suite"].isin(["", suite])
    classifiers = model or _CLASSIFIERS.get(paper)
    chosen = (rows["paper"] == paper[:2]) & (rows["classifiers"] == classifiers) & of_suite
    columns = [*Key._fields, *Printed._fields]
    return {Key(*row[:5]): Printed(*row[5:]) for row in rows.loc[chosen, columns].to_numpy()}


def check_published(paper: Paper, groups: Mapping[str, Set[str]], field: str) -> None:
    """Check that a study has names that a paper's errors can be put beside."""
    what, given = "suite", set(groups)
    if paper == "p1":
        what, given = "group", set().union(*groups.values())
    expected: Sequence[str] = P1_GROUPS if paper == "p1" else P2_SUITES
    if paper != "none" and given.isdisjoint(expected):
        raise configuration_error(
            f"the errors of {paper} are found by the name of the {what}, and no {what} is called "
            f"{' or '.join(expected)}",
            field=field,
            remedy=f"Give every {what} the name that the paper uses, or set published: none",
        )
