"""Errors in the user's input, with messages that say where the error is and how to correct it."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Caller = Literal["python", "command", "study"]
# Whose options messages name; commands set it.
CALLER: ContextVar[Caller] = ContextVar("caller", default="python")

# Control characters, but for tab and newline, and those of the order of writing: in names and
# metadata of files they could change what a terminal shows.
_CONTROLS = {n: f"\\x{n:02x}" for n in (*range(32), *range(127, 160)) if n not in (9, 10)} | {
    n: f"\\u{n:04x}" for n in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_MAX_LISTED = 20  # longer lists of known names are abbreviated in messages


def printable(text: str) -> str:
    """Show control characters, and bytes that are no text, by escape codes."""
    # Names of files that are not UTF-8 hold lone surrogates, which cannot be written.
    return text.translate(_CONTROLS).encode(errors="backslashreplace").decode()


_COMMAND = re.compile(
    r"`matched-eval (compare|label-plan|predict-accuracy)(?: --([a-z-]+) (\w+))?`"
)


def advice_for_caller(advice: str) -> str:
    """Replace commands by Python calls in advice, if the caller uses the Python functions."""
    if CALLER.get() != "python":
        return advice

    def as_call(command: re.Match[str]) -> str:
        options = f"(..., {command[2].replace('-', '_')}='{command[3]}')" if command[2] else ""
        return f"`me.{command[1].replace('-', '_')}{options}`"

    return _COMMAND.sub(as_call, advice)


class InputError(ValueError):
    """An error in the user's input, as opposed to an error of the program.

    Parameters
    ----------
    problem : str
        What is wrong, with the offending value.
    file, field : object, optional
        Where it is: the file, and the column or key in it.
    remedy : str, optional
        How to correct it.
    """

    def __init__(
        self, problem: str, *, file: object = None, field: object = None, remedy: str = ""
    ) -> None:
        place = [str(file)] if file is not None else []
        if field is not None:
            place.append(f"'{field}'")
        message = ": ".join([*place, problem])
        super().__init__(printable(f"{message}. {remedy}" if remedy else message))


class InputWarning(UserWarning):
    """Input that can be computed with, but looks wrong."""


def configuration_error(problem: str, *, field: object = None, remedy: str = "") -> InputError:
    """Create the error for a wrong setting of a study's configuration."""
    return InputError(problem, file="configuration", field=field, remedy=remedy)


class StoppedError(InputError):
    """A job was told to stop, and has saved a state from which the next one continues."""


class ErrorCollector:
    """Collects the errors of several inputs, to report all of them and not just the first."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Record an `InputError` that the block raises, and continue after the block."""
        try:
            yield
        except InputError as error:
            self._messages.append(str(error))

    @property
    def has_errors(self) -> bool:
        """Whether there is an error."""
        return bool(self._messages)

    def raise_any(self) -> None:
        """Raise all recorded errors as one `InputError`, if there are any."""
        if self._messages:
            raise InputError("; ".join(self._messages))


def unknown_name_error(
    what: str, name: str, valid: Iterable[str], *, file: object = None, field: object = None
) -> InputError:
    """Create the error for an unknown name, with a suggestion of what may have been intended."""
    remedy = suggest(name, valid)
    return InputError(f"unknown {what} '{name}'", file=file, field=field, remedy=remedy)


def listed(names: Iterable[object], most: int = 10) -> str:
    """Join the first names by commas for a message, and count the others."""
    texts = list(map(str, names))
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def check_known(
    what: str, names: Iterable[str], valid: Collection[str], *, file: object = None,
    field: object = None,
) -> None:  # fmt: skip
    """Raise an `InputError` with suggestions for the first name that is not a valid one."""
    for name in names:
        if name not in valid:
            raise unknown_name_error(what, str(name), valid, file=file, field=field)


def suggest(name: str, valid: Iterable[str]) -> str:
    """Return a hint in place of an unknown name: the most similar valid ones, or all."""
    names = list(valid)
    same = [other for other in names if other.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, names, n=3)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if len(names) > _MAX_LISTED:
        return f"There are {len(names)}, for example {', '.join(names[:3])}"
    return f"Known: {', '.join(names)}"
