"""Mean absolute errors printed in the papers: shown beside those of a study, used for nothing else.

P1: Guillory et al. (2021), Table 2. P2: Sun et al. (2024), Table 2, the row of 40 classifiers.
"""

from collections.abc import Mapping, Set
from typing import Literal

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.predicting import CALIBRATED, DIRECT, LEAVE_ONE_OUT
from matcheval.errors import configuration_error

Paper = Literal["none", "p1", "p2"]
# Protocol, groups calibrated on, method, group of the sets.
Key = tuple[str, str, str, str]

P1_GROUPS = ("Syn1", "Syn2", "Natural", "Adv")
P2_SUITES = ("C10-Cs", "C10-W")

_P1_DIRECT = {"ac": (0.092, 0.075, 0.087, 0.476), "doc_feat": (0.058, 0.043, 0.072, 0.474)}
# By groups calibrated on, then by method: errors on the other groups, in the order of P1_GROUPS.
_P1_CALIBRATED: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "Syn1": {
        "disc_a_proxy": (0.052, 0.335, 1.109),
        "disc_auc": (0.042, 0.207, 0.94),
        "frechet": (0.0384, 0.113, 0.713),
        "mmd": (0.049, 0.104, 0.738),
        "rotation": (0.094, 0.115, 0.665),
        "doe": (0.045, 0.075, 0.524),
        "doc": (0.039, 0.050, 0.388),
    },
    "Syn2": {
        "disc_a_proxy": (0.070, 0.261, 1.04),
        "disc_auc": (0.056, 0.133, 0.836),
        "frechet": (0.044, 0.126, 0.661),
        "mmd": (0.052, 0.111, 0.678),
        "rotation": (0.082, 0.189, 0.588),
        "doe": (0.039, 0.096, 0.537),
        "doc": (0.032, 0.066, 0.432),
    },
    "Natural": {
        "disc_a_proxy": (0.163, 0.134, 0.734),
        "disc_auc": (0.145, 0.118, 0.723),
        "frechet": (0.056, 0.045, 0.691),
        "mmd": (0.083, 0.0596, 0.724),
        "rotation": (0.059, 0.098, 0.654),
        "doe": (0.146, 0.186, 0.371),
        "doc": (0.070, 0.096, 0.292),
    },
}
# In percentage points, in the order of P2_SUITES.
_P2 = {
    "prediction_score_0.7": (4.10, 7.14),
    "prediction_score_0.8": (3.83, 6.80),
    "prediction_score_0.9": (3.59, 6.42),
    "entropy": (3.97, 6.86),
    "atc_mc": (3.74, 6.64),
    "doc": (3.81, 6.75),
    "nuclear_norm": (3.58, 5.48),
    "frechet_reference": (6.04, 7.35),
    "bop_js": (3.63, 6.15),
    "ms_aol": (3.32, 4.45),
}
_SOURCES = {
    "p1": "Guillory et al. (2021), Table 2",
    "p2": "Sun et al. (2024), Table 2, 40 classifiers",
}


def published_errors(paper: Paper, suite: str) -> dict[Key, float]:
    """Return the errors that a paper prints."""
    if paper == "p1":
        return _of_p1()
    if paper == "p2" and suite in P2_SUITES:
        column = P2_SUITES.index(suite)
        return {(LEAVE_ONE_OUT, "", m, ALL): v[column] / 100 for m, v in _P2.items()}
    return {}


def _of_p1() -> dict[Key, float]:
    found = {
        (DIRECT, "", method, group): value
        for method, values in _P1_DIRECT.items()
        for group, value in zip(P1_GROUPS, values, strict=True)
    }
    for on, methods in _P1_CALIBRATED.items():
        others = [group for group in P1_GROUPS if group != on]
        for method, values in methods.items():
            for group, value in zip(others, values, strict=True):
                found[CALIBRATED, on, method, group] = value
    return found


def note(paper: Paper) -> str:
    """Return what the columns of published errors are, for below a table."""
    return f"Columns marked {paper.upper()} are printed in {_SOURCES[paper]}; empty cells are not."


def check_names(paper: Paper, groups: Mapping[str, Set[str]], field: str) -> None:
    """Check that a study has names that a paper's errors can be put beside."""
    known: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
        "p1": ("group", P1_GROUPS, {name for names in groups.values() for name in names}),
        "p2": ("suite", P2_SUITES, set(groups)),
    }
    if paper in known:
        what, expected, given = known[paper]
        if not given & set(expected):
            raise configuration_error(
                f"the errors of {paper} are found by the name of the {what}, and no {what} is "
                f"called {' or '.join(expected)}",
                field=field,
                remedy=f"Give every {what} the name that the paper uses, or set published: none",
            )
