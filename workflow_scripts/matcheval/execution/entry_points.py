"""What every adapter's door has in common: logging, and an exit code instead of a traceback."""

import logging
import sys
from collections.abc import Callable
from typing import Any

from matcheval.errors import InputError

LOGGER = logging.getLogger(__name__)


def run_door(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run a command's function, turning bad input into one line and exit code 1.

    Any other exception is a programmer's error and keeps its traceback.

    Parameters
    ----------
    function : callable
        Called with the remaining arguments.
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


def run_script(function: Callable[..., None], log_file: str, **kwargs: Any) -> None:
    """Run a `script:` rule's function like `run_door`, with a log file of its own.

    Snakemake gives a script's log as a path and leaves the writing to the script, errors
    included; messages of level INFO go to the file only.

    Parameters
    ----------
    function : callable
        Called with the keyword arguments.
    log_file : str
        Where the rule's log goes.
    **kwargs
        Handed on.
    """

    def logged(**inner: Any) -> None:
        try:
            function(**inner)
        except Exception:
            LOGGER.exception("%s failed", function.__module__)
            raise

    logging.basicConfig(level=logging.INFO, format="%(message)s", filename=log_file, filemode="w")
    run_door(logged, **kwargs)


def set_up_logging() -> None:
    """Send messages of level INFO and above to standard error, if nowhere else."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)


def show_progress() -> bool:
    """Whether a person watches: progress bars are drawn on a terminal only."""
    return sys.stderr.isatty()
