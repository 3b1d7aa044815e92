"""What every adapter's door has in common: logging, and an exit code instead of a traceback."""

import logging
import sys
from collections.abc import Callable
from typing import Any

from matcheval.errors import InputError


def run_door(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run an adapter's function, turning bad input into one line and exit code 1.

    Any other exception is a programmer's error and keeps its traceback.

    Parameters
    ----------
    function : callable
        The adapter's function; called with the remaining arguments.
    *args, **kwargs
        Handed on.

    Raises
    ------
    SystemExit
        With code 1, after ``error: <message>`` on standard error, if `function` raised an
        `InputError`.
    """
    set_up_logging()
    try:
        function(*args, **kwargs)
    except InputError as error:
        message = " ".join(str(error).splitlines())
        sys.stderr.write(f"error: {message}\n")
        raise SystemExit(1) from error


def set_up_logging() -> None:
    """Send the library's messages of level INFO and above to standard error."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)


def show_progress() -> bool:
    """Whether a person watches: progress bars are drawn on a terminal only."""
    return sys.stderr.isatty()
