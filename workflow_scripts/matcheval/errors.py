"""The one error that a person, not a programmer, has to act on."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_FEW = 20  # so many names are all told


class InputError(ValueError):
    """Bad input, said so that its owner can mend it.

    Parameters
    ----------
    problem : str
        What is wrong, with the offending value.
    file, field : object, optional
        Where: the file, and the column or key in it.
    remedy : str, optional
        What to do about it.
    """

    def __init__(
        self, problem: str, *, file: object = None, field: object = None, remedy: str = ""
    ) -> None:
        place = [str(file)] if file is not None else []
        if field is not None:
            place.append(f"'{field}'")
        message = ": ".join([*place, problem])
        super().__init__(f"{message}. {remedy}" if remedy else message)


class Problems:
    """Errors of several inputs, gathered so that all are told and not just the first."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep an `InputError` of the block, and go on after it."""
        try:
            yield
        except InputError as error:
            self._messages.append(str(error))

    def raise_any(self) -> None:
        """Raise what was gathered as one error.

        Raises
        ------
        InputError
            If there is anything.
        """
        if self._messages:
            raise InputError("; ".join(self._messages))


def unknown(
    what: str, name: str, known: Iterable[str], *, file: object, field: object
) -> InputError:
    """Make the error of a name that is not known, with the known ones, or the nearest of many.

    Parameters
    ----------
    what : str
        What the name should be of: `model`, `dataset`.
    name : str
        The name that was given.
    known : iterable of str
        All names that would do.
    file, field : object
        As for `InputError`.
    """
    names = list(known)
    remedy = f"Known: {', '.join(names)}"
    if len(names) > _FEW:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
        remedy = f"There are {len(names)}; near to it: {', '.join(near)}"
    return InputError(f"unknown {what} '{name}'", file=file, field=field, remedy=remedy)
