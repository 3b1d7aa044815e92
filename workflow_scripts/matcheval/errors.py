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
    what: str, name: str, known: Iterable[str], *, file: object = None, field: object = None
) -> InputError:
    """Make the error of a name that is not known, with what was probably meant.

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
    remedy = meant(name, known)
    return InputError(f"unknown {what} '{name}'", file=file, field=field, remedy=remedy)


def meant(name: str, known: Iterable[str]) -> str:
    """Say what was probably meant by a name: those it is like, or all, or some of many.

    Parameters
    ----------
    name : str
        The name that was given.
    known : iterable of str
        All names that would do.
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if len(names) > _FEW:
        return f"There are {len(names)}, as {', '.join(names[:3])}"
    return f"Known: {', '.join(names)}"
