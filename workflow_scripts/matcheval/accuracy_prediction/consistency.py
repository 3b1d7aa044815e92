"""Whether methods rank alike on other sets, and whether errors go with the number of images.

P2, appendix A.2.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.schemas import SUITE, WAY
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.tables import Column, TableSchema
from matcheval.statistics.ranks import rank_correlations

_WAY = ["suite", "protocol", "regressor", "calibrated_on"]
_PLACE = ["group", "subgroup"]
_COEFFICIENTS = (
    Column("spearman", pa.float64(), "1", "rank correlation, ties by average ranks"),
    Column("kendall", pa.float64(), "1", "tau-b, with ties"),
)

RANKINGS = TableSchema(
    "consistency of the rankings of methods",
    (
        SUITE,
        *WAY,
        Column("group_1", pa.string(), "", "group of the first sets"),
        Column("subgroup_1", pa.string(), "", "their subgroup; 'all' for all of the group"),
        Column("group_2", pa.string(), "", "group of the second sets"),
        Column("subgroup_2", pa.string(), "", "their subgroup; 'all' for all of the group"),
        Column("n_methods", pa.int64(), "methods", "with an error on both"),
        *_COEFFICIENTS,
    ),
)

COUNTS = TableSchema(
    "numbers of images and errors",
    (
        SUITE,
        *WAY,
        Column("group", pa.string(), "", "group of the sets; 'all' for all sets"),
        Column("n_subgroups", pa.int64(), "subgroups", "that are compared"),
        Column("n_images", pa.int64(), "images", "in these subgroups"),
        *_COEFFICIENTS,
    ),
)


def tabulate_rankings(errors: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how the mean errors of methods on some sets go with those on other sets."""
    whole = _complete(errors)
    rows = []
    for way, part in whole.groupby(_WAY, sort=False):
        table = part.pivot_table(
            index=["method", "variant"], columns=_PLACE, values="mae", sort=False
        )
        for one, other in combinations(table.columns, 2):
            if one[0] == other[0] and ALL in (one[1], other[1]):
                continue
            values = table[[one, other]].dropna().to_numpy()
            rows.append([*way, *one, *other, len(values), *rank_correlations(*values.T)])
    return pd.DataFrame(rows, columns=RANKINGS.names)


def _complete(errors: pd.DataFrame) -> pd.DataFrame:
    """Return errors on groups and subgroups of the methods that were scored on all of their sets.

    Methods that were scored on some of the sets, such as rotation, cannot be compared with others.
    """
    whole = errors[(errors["view"] == WHOLE) & (errors["group"] != ALL)]
    most = whole.groupby([*_WAY, *_PLACE], sort=False)["n_sets"].transform("max")
    return whole[whole["n_sets"] == most]


def tabulate_counts(errors: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how the errors on subgroups go with their numbers of images."""
    sets = predicted[predicted["view"] == WHOLE].drop_duplicates(["model", "dataset"])
    sizes = sets.groupby(["dataset", *_PLACE], sort=False)["n"].max()
    images = sizes.groupby(level=_PLACE, sort=False).sum()
    whole = _complete(errors)
    rows = []
    for way, part in whole.groupby(_WAY, sort=False):
        means = part.groupby(_PLACE, sort=False)["mae"].mean().dropna()
        for group, units in _units(means):
            counts = [
                images[place] if place in images.index else images[place[0]].sum()
                for place in units.index
            ]
            found = rank_correlations(counts, units.to_numpy())
            rows.append([*way, group, len(units), int(np.sum(counts)), *found])
    return pd.DataFrame(rows, columns=COUNTS.names)


def _units(means: "pd.Series[float]") -> Iterator[tuple[str, "pd.Series[float]"]]:
    """Yield what is compared within every group, and over all: subgroups, or whole groups."""
    parts = []
    for group, part in means.groupby(level="group", sort=False):
        divided = part[part.index.get_level_values("subgroup") != ALL]
        parts.append(divided if len(divided) else part)
        if len(divided):
            yield str(group), divided
    if parts:
        yield ALL, pd.concat(parts)
