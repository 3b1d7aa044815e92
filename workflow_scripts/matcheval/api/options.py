"""Arguments of a comparison that a caller gives, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from matcheval.errors import InputError
from matcheval.names import MAX_NAME_LENGTH, is_name
from matcheval.protocol.settings import MAX_SEEDS, Criterion, MatchingMethod, check_epsilon

Origin = Literal["original", "replication"]


@dataclass(frozen=True)
class PairOptions:
    """What a caller says of a pair of sets.

    Attributes
    ----------
    pair : str
        Name of the pair; random matches depend on it and on the model's name.
    model : str
        Name of a model that is not named otherwise; empty for the one in its predictions.
    source : str or None
        `original` or `replication`; None for the protocol's rule, the larger set.
    paired, groups_shared : bool
        See `Pair`.
    names : tuple of str, optional
        What original and replication are called; by default as their predictions or files say.

    Raises
    ------
    InputError
        On creation, if one is not valid.
    """

    pair: str = "pair"
    model: str = ""
    source: Origin | None = None
    paired: bool = False
    groups_shared: bool = False
    names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Check names."""
        if not isinstance(self.pair, str) or not is_name(self.pair):
            raise InputError(
                f"pair {self.pair!a:.100} is not a valid name",
                remedy="Use letters, digits, '.', '_' and '-'",
            )
        if self.source not in (None, "original", "replication"):
            raise InputError(
                f"source is {self.source!r:.60}",
                remedy="Give 'original' or 'replication', or leave it out for the larger set",
            )
        if self.names is not None:
            check_names(self.names)


def check_names(names: object) -> None:
    """Check the names that a caller gave to original and replication.

    Parameters
    ----------
    names : object

    Raises
    ------
    InputError
        If they are not two different names that can be printed.
    """
    is_pair = isinstance(names, tuple | list) and len(names) == 2 and names[0] != names[1]
    if not is_pair or not all(_is_name(name) for name in names):  # type: ignore[attr-defined]
        raise InputError(
            f"names is {names!a:.100}", remedy="Give the names of the two sets, such as ('a', 'b')"
        )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_LENGTH


def methods_of(criteria: Sequence[str], epsilon: float, n_seeds: int) -> dict[str, MatchingMethod]:
    """Check how predictions are to be matched.

    Parameters
    ----------
    criteria : sequence of str
        Values of `Criterion`.
    epsilon : float
        Largest difference of matched probabilities, in (0, 1].
    n_seeds : int
        Runs per model, with seeds 0, 1, ....

    Returns
    -------
    dict of str to MatchingMethod
        By the criterion's name, each once.

    Raises
    ------
    InputError
        If one is out of range or unknown.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number):
        raise InputError(f"epsilon is {epsilon!r:.60}", remedy="Give a number, usually 0.005")
    check_epsilon(float(epsilon))
    if isinstance(n_seeds, bool) or not isinstance(n_seeds, int | np.integer):
        raise InputError(f"seeds is {n_seeds!r:.60}", remedy=f"Give 1 to {MAX_SEEDS:,}")
    if not 1 <= n_seeds <= MAX_SEEDS:
        what = "no run" if n_seeds < 1 else "too many runs"
        raise InputError(f"seeds {n_seeds} gives {what}", remedy=f"Give 1 to {MAX_SEEDS:,}")
    known = [criterion.value for criterion in Criterion]
    names = [criteria] if isinstance(criteria, str) else list(criteria)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise InputError(
            f"unknown criterion {unknown[0]!r:.60}" if unknown else "no criterion",
            remedy=f"Known: {', '.join(known)}",
        )
    return {
        Criterion(name).value: MatchingMethod(criterion=Criterion(name), epsilon=float(epsilon))
        for name in dict.fromkeys(names)
    }


def checked_model_name(model: str) -> str:
    """Check the name of a model, and return it.

    Parameters
    ----------
    model : str

    Raises
    ------
    InputError
        If it is not printable, empty or too long.
    """
    if not _is_name(model):
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give --model NAME (in Python, model), of up to {MAX_NAME_LENGTH} characters",
        )
    return model
