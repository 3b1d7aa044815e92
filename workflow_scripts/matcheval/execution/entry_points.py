"""How commands and the scripts of rules start: arguments, logging, and errors without traceback."""

import inspect
import logging
import sys
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from matcheval.errors import InputError

LOGGER = logging.getLogger(__name__)


def run_command(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run a command's function; bad input becomes one line on standard error and exit code 1.

    Any other exception is a programmer's error and keeps its traceback.

    Parameters
    ----------
    function : callable
        Called with the remaining arguments.
    *args, **kwargs
        Passed on.

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


def run_script(function: Callable[..., None], job: Any) -> None:
    """Run the function of a `script:` rule, with its arguments from the job and its own log file.

    Snakemake passes a script's log as a path and leaves the writing to the script, errors
    included. Messages of level INFO go to that file only.

    Parameters
    ----------
    function : callable
        With keyword arguments only, see `job_arguments`.
    job : object
        Snakemake's description of the job: `input`, `output`, `params`, `wildcards`, `log`.
    """

    def logged(**arguments: Any) -> None:
        try:
            function(**arguments)
        except Exception:
            LOGGER.exception("%s failed", function.__module__)
            raise

    logging.basicConfig(
        level=logging.INFO, format="%(message)s", filename=str(job.log[0]), filemode="w"
    )
    run_command(logged, **job_arguments(function, job))


def job_arguments(function: Callable[..., None], job: Any) -> dict[str, Any]:
    """Collect the arguments of a rule's function from its job, by name, converted by annotation.

    A name is looked up in the mapping `params.job`, in the other parameters, the inputs and the
    outputs; if it is in none of these, in the wildcards. Values that were passed on as plain
    mappings and texts, such as a pair or a criterion, become objects of the annotated types.

    Parameters
    ----------
    function : callable
        With keyword arguments only, all annotated.
    job : object
        As for `run_script`.

    Raises
    ------
    TypeError
        If an argument is found nowhere or in several places, or `params.job` has a key that is no
        argument: the rule and its script do not fit together.
    """
    named = [dict(part.items()) for part in (job.params, job.input, job.output)]
    wildcards = dict(job.wildcards.items())
    parameters = named[0].pop("job", {})
    expected = inspect.signature(function, eval_str=True).parameters
    unused = sorted(set(parameters) - set(expected))
    if unused:
        raise TypeError(f"the rule passes {', '.join(unused)}, which its script does not take")
    arguments = {}
    for name, parameter in expected.items():
        found = [place[name] for place in (parameters, *named) if name in place]
        if not found and name in wildcards:
            found = [wildcards[name]]
        if len(found) != 1:
            raise TypeError(f"the rule passes '{name}' {len(found)} times")
        arguments[name] = TypeAdapter(parameter.annotation).validate_python(_plain(found[0]))
    return arguments


def _plain(value: Any) -> Any:
    """Snakemake's lists and texts as Python's."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def set_up_logging() -> None:
    """Send messages of level INFO and above to standard error, if they go nowhere else."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)


def show_progress() -> bool:
    """Whether a person watches: progress bars are drawn on a terminal only."""
    return sys.stderr.isatty()
