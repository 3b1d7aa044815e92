"""Which datapoints are labelled, in which order: drawn by a seed, and kept with the worklist.

A draw is extended, after a pilot, by further rows of the same order: nothing is thrown away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import check_known
from matcheval.few_labels.active import inclusion_probabilities
from matcheval.few_labels.strata import MIXED, N_STRATA, Ints, allocate, boundaries, strata_at
from matcheval.statistics.intervals import FloatArray

STRATA = {"mixed": MIXED, "proportional": 1.0, "neyman": 0.0}  # with the tau of `allocate`
DESIGNS = ("random", *STRATA, "active", "lure", "disagreement")
_PER_STRATUM = 10  # labels for which a further stratum is worth it
_FORMAT = 1  # of plan files


@dataclass(frozen=True, eq=False)
class Draw:
    """What is to be labelled.

    Attributes
    ----------
    design : str
        One of `DESIGNS`.
    seed, asked : int
        Of the draw, and number of labels that was asked for; with `active`, their expected number.
    rows : int64 array, shape (n,)
        Rows of the predictions in the order of labelling.
    bounds : float64 array
        Confidences at which strata above the lowest begin; empty for other designs.
    stratum : int64 array, shape (n,)
        Of each row; 0 for other designs.
    sizes : int64 array, shape (n_strata,)
        Datapoints of each stratum; of the frame, for other designs.
    chance : float64 array, shape (n,)
        `active`: with which probability each was to be labelled; `lure`: with which it was chosen
        among those left; otherwise empty.
    """

    design: str
    seed: int
    asked: int
    rows: Ints
    bounds: FloatArray
    stratum: Ints
    sizes: Ints
    chance: FloatArray

    def to_json(self) -> dict[str, Any]:
        """Return it as values of JSON; `of_json` reads them."""
        arrays = {k: v.tolist() for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return {"format": _FORMAT} | vars(self) | arrays

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> "Draw":
        """Read what `to_json` returned; a `ValueError` or `KeyError` is of other values."""
        whole, real = np.int64, np.float64
        if values["format"] != _FORMAT or values["design"] not in DESIGNS:
            raise ValueError(f"format {values['format']}, design {values['design']}")
        return cls(
            values["design"], values["seed"], values["asked"], np.array(values["rows"], whole),
            np.array(values["bounds"], real), np.array(values["stratum"], whole),
            np.array(values["sizes"], whole), np.array(values["chance"], real),
        )  # fmt: skip


def draw(
    design: str, f: FloatArray, n: int, seed: int, differs: npt.NDArray[np.bool_] | None = None,
    earlier: Draw | None = None,
) -> Draw:  # fmt: skip
    """Draw what is labelled.

    Parameters
    ----------
    design : str
        One of `DESIGNS`.
    f : float64 array, shape (N,)
        Confidences.
    n : int
        Labels; of a frame with fewer datapoints, all are drawn.
    seed : int
    differs : bool array, shape (N,), optional
        Where the predicted classes of two models differ, for `disagreement`.
    earlier : Draw, optional
        Of a pilot, which comes first and counts.

    Raises
    ------
    InputError
        If strata cannot have two labels each.
    """
    check_known("design", [design], DESIGNS)
    rng = np.random.default_rng(seed)
    order, luck = rng.permutation(len(f)), rng.random(len(f))
    done = np.array([], np.int64) if earlier is None else earlier.rows
    none = np.array([], np.float64)
    if design == "active":
        spread = np.sqrt(f * (1 - f))
        chance = inclusion_probabilities(spread, n)
        if earlier is not None:
            chance = np.maximum(chance, inclusion_probabilities(spread, earlier.asked))
        drawn = order[(luck < chance)[order]]
        rows = np.concatenate([done, drawn[~np.isin(drawn, done)]])
        size = np.array([len(f)])
        asked = n if earlier is None else max(n, earlier.asked)
        return Draw(design, seed, asked, rows, none, np.zeros_like(rows), size, chance[rows])
    if design == "lure":
        return _one_by_one(f, max(n, len(done)), seed, luck)
    part, bounds, count = np.zeros(len(f), np.int64), none, np.array([min(n, len(f))])
    if design == "disagreement":
        assert differs is not None
        part = np.where(differs, 0, -1)
        count = np.minimum(n, [int(differs.sum())])
    elif design in STRATA:
        wanted = min(N_STRATA, max(1, n // _PER_STRATUM))
        bounds = boundaries(f, wanted) if earlier is None else earlier.bounds
        part = strata_at(f, bounds)
        sizes = np.bincount(part)
        mean = np.bincount(part, f) / sizes
        sds = None if design == "proportional" else np.sqrt(np.maximum(mean * (1 - mean), 0))
        count = allocate(sizes, min(n, len(f)), sds, tau=STRATA[design])
    sizes = np.bincount(part[part >= 0], minlength=len(count))
    before = np.bincount(part[done], minlength=len(count))
    open_rows = order[~np.isin(order, done)]
    chosen_rows, keys = list[Ints](), list[FloatArray]()
    for h, more in enumerate(np.maximum(count - before, 0).tolist()):
        chosen = open_rows[part[open_rows] == h][:more]
        chosen_rows.append(chosen)
        # Of every beginning of the worklist, strata have their shares, whenever a person stops.
        keys.append((np.arange(len(chosen)) + luck[chosen]) / max(more, 1))
    found = np.concatenate([done, np.concatenate(chosen_rows)[np.argsort(np.concatenate(keys))]])
    return Draw(design, seed, n, found, bounds, part[found], sizes, none)


def _one_by_one(f: FloatArray, n: int, seed: int, luck: FloatArray) -> Draw:
    """Draw one after the other, with weights, by the smallest exponential waiting times."""
    doubt = 1 - f
    total, size = float(doubt.sum()), len(f)
    shares = doubt / total if total > 0 else np.full(size, 1 / size)
    weight: FloatArray = 0.5 * shares + 0.5 / size
    rows = np.argsort(-np.log1p(-luck) / weight, kind="stable")[: min(n, size)]
    left = weight.sum() - np.cumsum(weight[rows]) + weight[rows]
    chance = np.minimum(weight[rows] / left, 1.0)
    none, part = np.array([], np.float64), np.zeros_like(rows)
    return Draw("lure", seed, n, rows, none, part, np.array([size]), chance)
