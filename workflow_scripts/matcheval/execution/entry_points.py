"""Entry points of commands, scripts and rules: arguments, logging, errors without traceback."""

import argparse
import inspect
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any, NoReturn, get_origin

from matcheval.errors import InputError, printable
from matcheval.execution.gpus import reserve_gpus
from matcheval.execution.jobs import check_same_library

LOGGER = logging.getLogger(__name__)
INTERRUPTED = 130  # as shells have it for SIGINT
# Modules of the extra `workflow` of pyproject.toml, without which the command does much.
_WORKFLOW_PACKAGES = (
    "filelock", "requests", "safetensors", "snakemake", "timm", "torch", "torchvision", "tqdm",
    "urllib3",
)  # fmt: skip

# --- functions of the library by name, with arguments as JSON values, as rules declare them

Call = Mapping[str, Any]  # `function`, as `module:name`, and `arguments` by name


def import_function(name: str) -> Callable[..., Any]:
    """Import a function that is named as `module:name`."""
    module, _, function = name.partition(":")
    imported: Callable[..., Any] = getattr(import_module(module), function)
    return imported


def convert_arguments(
    function: Callable[..., None], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Convert arguments from JSON values to the types of a function's annotations."""
    from pydantic import TypeAdapter  # which commands need not wait for

    expected = inspect.signature(function, eval_str=True).parameters
    return {
        name: TypeAdapter(expected[name].annotation).validate_python(value)
        for name, value in arguments.items()
    }


def run_call(call: Call) -> Any:
    """Run the function that a call names, with the call's arguments; return its result."""
    function = import_function(call["function"])
    return function(**convert_arguments(function, call["arguments"]))


# --- commands and scripts


def run_command(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run a command's function; on `InputError`, print its message and exit with status 1."""
    set_up_logging()
    try:
        check_same_library()
        function(*args, **kwargs)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in _WORKFLOW_PACKAGES:
            raise
        problem = f"this needs the package {package}, which is not installed"
        remedy = "Install it: pip install 'matched-eval[workflow]'"
        _exit_with_message(InputError(problem, remedy=remedy), error)
    except InputError as error:
        _exit_with_message(error, error)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def run_script(function: Callable[..., None], argv: Sequence[str]) -> None:
    """Run a function as a script, whose options are the function's parameters and `--gpus`.

    Its parameters are the options; of a parameter whose type is a dataclass, the fields.
    """
    parser = argparse.ArgumentParser(description=inspect.getdoc(function))
    _add_options(parser, function)
    parser.add_argument("--gpus", type=int, default=0)
    options = vars(parser.parse_args(argv))
    arguments = {
        name: {field.name: options[field.name] for field in fields(kind)} if is_dataclass(kind)
        else options[name]
        for name, kind in inspect.get_annotations(function, eval_str=True).items()
        if name != "return"
    }  # fmt: skip

    def run() -> None:
        reserve_gpus(options["gpus"])
        check_same_library()  # once more: to wait for a GPU may take long
        function(**convert_arguments(function, arguments))

    run_command(run)


def _add_options(parser: argparse.ArgumentParser, function: Callable[..., None]) -> None:
    """Add options for parameters, or fields of dataclasses; values but flags stay texts."""
    options: list[tuple[str, Any, Any]] = []  # name, type and default
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind = parameter.annotation
        if is_dataclass(kind):
            options += [(field.name, field.type, field.default) for field in fields(kind)]
        else:
            options.append((parameter.name, kind, parameter.default))
    for name, kind, default in options:
        option = f"--{name.replace('_', '-')}"
        is_required = default in (MISSING, inspect.Parameter.empty)
        if kind is bool:
            parser.add_argument(option, action=argparse.BooleanOptionalAction, default=default)
        else:
            nargs = "*" if get_origin(kind) is Sequence else None
            parser.add_argument(option, nargs=nargs, required=is_required, default=default)


def _exit_with_message(error: InputError, cause: Exception) -> NoReturn:
    sys.stderr.write(f"error: {' '.join(str(error).splitlines())}\n")
    raise SystemExit(1) from cause


# --- rules


def run_job(job: Any) -> None:
    """Run the function that a Snakemake job's rule names, with the job's arguments and log file."""
    function = import_function(job.params.function)
    logging.basicConfig(
        level=logging.INFO, format="%(message)s", filename=str(job.log[0]), filemode="w"
    )
    try:
        check_same_library()
        function(**job_arguments(function, job))
    except KeyboardInterrupt:
        LOGGER.info("interrupted")
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        LOGGER.error("%s failed", job.params.function, exc_info=error)
        raise SystemExit(1) from error


def job_arguments(function: Callable[..., None], job: Any) -> dict[str, Any]:
    """Collect the arguments of a rule's function from its job, converted to annotated types.

    An argument `threads` is the number of threads that the job has.
    """
    parameters, *files = [dict(part.items()) for part in (job.params, job.input, job.output)]
    wildcards = dict(job.wildcards.items()) | {"threads": job.threads}
    named = json.loads(parameters.pop("job", "{}"))
    expected = inspect.signature(function).parameters
    if unused := sorted(set(named) - set(expected)):
        raise TypeError(f"the rule passes {', '.join(unused)}, which its script does not take")
    arguments = {}
    for name in expected:
        values = [place[name] for place in (named, parameters, *files) if name in place]
        if not values and name in wildcards:
            values = [wildcards[name]]
        if len(values) != 1:
            raise TypeError(f"the rule passes '{name}' {len(values)} times, not once")
        arguments[name] = _to_builtin(values[0])
    return convert_arguments(function, arguments)


def _to_builtin(value: Any) -> Any:
    """Convert Snakemake's own lists and strings to plain `list` and `str`."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [_to_builtin(item) for item in value]
    return value


# --- messages


def set_up_logging() -> None:
    """Send messages of level INFO and above to standard error, unless logging is configured."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Printable("%(message)s"))
    # The Hugging Face hub's client logs each of its requests.
    handler.addFilter(lambda record: not record.name.startswith("httpx"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _Printable(logging.Formatter):
    """Log formatter that makes control characters in names and metadata visible."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def show_progress() -> bool:
    """Return whether to draw progress bars: only if standard error is a terminal."""
    return sys.stderr.isatty()
