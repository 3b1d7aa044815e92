"""Call functions of the library by name, with arguments as JSON values, as rules declare them."""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

log = logging.getLogger(__name__)


Call = Mapping[str, Any]  # `function`, as `module:name`, and `arguments` by name


def named_function(name: str) -> Callable[..., None]:
    """Import the function `module:name`."""
    module, _, function = name.partition(":")
    found: Callable[..., None] = getattr(import_module(module), function)
    return found


def converted(function: Callable[..., None], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments to the types that a function's annotations name."""
    from pydantic import TypeAdapter  # which commands need not wait for

    expected = inspect.signature(function, eval_str=True).parameters
    return {
        name: TypeAdapter(expected[name].annotation).validate_python(value)
        for name, value in arguments.items()
    }


def run_call(call: Call) -> None:
    """Run a function with its arguments."""
    function = named_function(call["function"])
    function(**converted(function, call["arguments"]))


def make_all(*, calls: Sequence[Call], threads: int) -> None:
    """Run calls, as many at a time as there are threads, which make a job's outputs.

    Raises
    ------
    RuntimeError
        If calls in processes of their own fail, with the first one's reason; their tracebacks are
        in the log.
    """
    from matcheval.execution.processes import in_processes  # not needed to plan

    alone = 1 if threads > 1 else len(calls)  # what the first one imports, the processes share
    for call in calls[:alone]:
        run_call(call)
    tasks = {str(n): partial(_reason, call) for n, call in enumerate(calls[alone:], alone)}
    failed = [reason for _, reason in in_processes(tasks, threads) if reason]
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(calls)} failed: {failed[0]}")
    log.info("%d made", len(calls))


def _reason(call: Call) -> str:
    """Run a call; return why it failed."""
    from matcheval.execution.processes import one_line

    try:
        run_call(call)
    except Exception as error:
        log.exception("%s failed", call["function"])
        return one_line(error)
    return ""
