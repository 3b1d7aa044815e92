"""Which datapoints are labelled, in which order: drawn by a seed, and kept with the worklist.

A draw is extended, after a pilot, by further rows of the same order: nothing is thrown away.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval import __version__
from matcheval.errors import InputError
from matcheval.few_labels.estimators import finite_array
from matcheval.io.self_digests import read_json, write_json
from matcheval.statistics.intervals import FloatArray

DESIGNS = ("random", "mixed", "disagreement")
N_STRATA = 5
MIXED = 0.5  # share of labels that go by size, whatever the confidences say
_PER_STRATUM = 10  # labels for which a further stratum is worth it
_FORMAT = 1  # of plan files
Ints = npt.NDArray[np.int64]


def stratum_boundaries(f: npt.ArrayLike, n_strata: int = N_STRATA) -> FloatArray:
    """Return the confidences at which the upper strata begin, for strata of about equal size."""
    ordered = np.sort(finite_array("f", f))
    if not len(ordered):
        raise InputError("no confidences")
    bounds = np.unique(ordered[len(ordered) * np.arange(1, n_strata) // n_strata])
    return bounds[bounds > ordered[0]]


def assign_strata(f: npt.ArrayLike, bounds: npt.ArrayLike) -> Ints:
    """Return the stratum of each confidence: how many of the bounds are at or below it."""
    return np.searchsorted(np.asarray(bounds), np.asarray(f), side="right").astype(np.int64)


def make_strata(f: npt.ArrayLike, n_strata: int = N_STRATA) -> Ints:
    """Divide datapoints by confidence into strata of about equal size; ties are not split."""
    return assign_strata(f, stratum_boundaries(f, n_strata))


def allocate(
    sizes: npt.ArrayLike, n: int, sds: npt.ArrayLike | None = None, minimum: int = 2,
    tau: float = MIXED,
) -> Ints:  # fmt: skip
    """Divide n labels among strata of these sizes; round by the largest remainders.

    With the standard deviations of the correctness in the strata, `tau` 0 is Neyman's allocation,
    1 proportional to the sizes. Each stratum gets `minimum` labels if it has as many datapoints.
    """
    size = finite_array("sizes", sizes, 0, np.inf)
    least = np.minimum(minimum, size)
    if not least.sum() <= n <= size.sum():
        raise InputError(
            f"{n} labels for strata of {', '.join(f'{s:g}' for s in size)} datapoints",
            remedy=f"Give {least.sum():g} to {size.sum():g} labels",
        )
    weight = size
    if sds is not None:
        spread = finite_array("sds", sds, 0, np.inf)
        mean = float((size * spread).sum() / size.sum()) if size.sum() else 0.0
        if mean > 0:
            weight = size * np.maximum((1 - tau) * spread / mean + tau, 1e-6)
    shares = _scale_to_sum(weight, least, size, n)
    whole = np.floor(shares + 1e-9)
    remainder = np.round(shares - whole, 9)
    whole[np.argsort(-remainder, kind="stable")[: n - int(whole.sum())]] += 1
    return whole.astype(np.int64)


def _scale_to_sum(weight: FloatArray, least: FloatArray, most: FloatArray, n: float) -> FloatArray:
    """Return the weights times a constant, clipped to bounds, so that the sum is n."""
    is_any = weight > 0
    turns = np.concatenate([bound[is_any] / weight[is_any] for bound in (least, most)])
    turns = np.unique(np.append(turns, 0.0))
    sums = np.clip(turns[:, None] * weight, least, most).sum(axis=1)
    at = min(int(np.searchsorted(sums, n, side="right")) - 1, len(turns) - 1)
    start, end = turns[at], turns[min(at + 1, len(turns) - 1)]
    inside = (start + end) / 2 * weight
    slope = weight[is_any & (inside > least) & (inside < most)].sum()
    c = start + (n - sums[at]) / slope if slope > 0 else start
    return np.clip(c * weight, least, most)


@dataclass(frozen=True, eq=False)
class Draw:
    """The datapoints to label, in order, with the design and strata that they were drawn by."""

    design: str
    seed: int
    rows: Ints  # of the predictions
    bounds: FloatArray  # confidences at which strata above the lowest begin, of the design mixed
    stratum: Ints  # of each row
    sizes: Ints  # datapoints of each stratum; of disagreement, those where two models differ


def draw(
    design: str, f: FloatArray, n: int, seed: int, differs: npt.NDArray[np.bool_] | None = None,
    earlier: Draw | None = None,
) -> Draw:  # fmt: skip
    """Draw n datapoints to label by a design; those of an earlier draw come first, and count."""
    rng = np.random.default_rng(seed)
    order, luck = rng.permutation(len(f)), rng.random(len(f))
    done = np.array([], np.int64) if earlier is None else earlier.rows
    stratum, bounds = np.zeros(len(f), np.int64), np.array([], np.float64)
    if design == "disagreement":
        assert differs is not None
        stratum = np.where(differs, 0, -1)
    elif design == "mixed":
        n_strata = min(N_STRATA, max(1, n // _PER_STRATUM))
        bounds = stratum_boundaries(f, n_strata) if earlier is None else earlier.bounds
        stratum = assign_strata(f, bounds)
    sizes = np.bincount(stratum[stratum >= 0], minlength=1)
    counts = np.minimum(n, sizes)
    if design == "mixed":
        mean = np.bincount(stratum, f) / sizes
        sds = np.sqrt(np.maximum(mean * (1 - mean), 0))
        counts = allocate(sizes, min(n, len(f)), sds)
    before = np.bincount(stratum[done], minlength=len(counts))
    open_rows = order[~np.isin(order, done)]
    chosen_rows, keys = list[Ints](), list[FloatArray]()
    for h, more in enumerate(np.maximum(counts - before, 0).tolist()):
        chosen = open_rows[stratum[open_rows] == h][:more]
        chosen_rows.append(chosen)
        # Of every beginning of the worklist, strata have their shares, whenever a person stops.
        keys.append((np.arange(len(chosen)) + luck[chosen]) / max(more, 1))
    added = np.concatenate(chosen_rows)[np.argsort(np.concatenate(keys))]
    rows = np.concatenate([done, added])
    return Draw(design, seed, rows, bounds, stratum[rows], sizes)


@dataclass(frozen=True, eq=False)
class Plan:
    """A draw, with the digest and temperature of its predictions and the size of its pilot."""

    draw: Draw
    digest: str
    temperature: float | None
    pilot: int
    file: object = None

    def save(self, path: Path, **more: Any) -> None:
        """Write a plan file; `more` are values for people who read it."""
        arrays = {k: v.tolist() for k, v in vars(self.draw).items() if isinstance(v, np.ndarray)}
        values = {
            "matched-eval": __version__, **more, "digest": self.digest,
            "temperature": self.temperature, "pilot": self.pilot,
            "draw": {"format": _FORMAT} | vars(self.draw) | arrays,
        }  # fmt: skip
        write_json(values, path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Plan":
        """Read a plan file; refuse other files and formats."""
        values = read_json(path)
        try:
            drawn: Mapping[str, Any] = values["draw"]
            if drawn["format"] != _FORMAT or drawn["design"] not in DESIGNS:
                raise ValueError
            rows, stratum, sizes = (
                np.array(drawn[name], np.int64) for name in ("rows", "stratum", "sizes")
            )
            bounds = np.array(drawn["bounds"], np.float64)
            draw = Draw(drawn["design"], drawn["seed"], rows, bounds, stratum, sizes)
            return cls(draw, values["digest"], values["temperature"], values["pilot"], path)
        except (KeyError, TypeError, ValueError) as error:
            remedy = "Give the plan.json that `label-plan` wrote"
            raise InputError("is not a plan of labels", file=path, remedy=remedy) from error

    def check(self, digest: str) -> None:
        """Refuse predictions other than those that the plan was made from, by their digest."""
        if digest != self.digest:
            remedy = "Give those that it was made from; of a changed model, plan and label anew"
            raise InputError("was made from other predictions", file=self.file, remedy=remedy)
