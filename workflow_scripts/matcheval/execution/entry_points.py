"""Entry points of commands and rule scripts: arguments, logging, errors without traceback."""

import inspect
import json
import logging
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from matcheval.errors import InputError, printable
from matcheval.execution.calls import converted, named_function
from matcheval.execution.same_run import check_same_library

LOGGER = logging.getLogger(__name__)
INTERRUPTED = 130  # as shells have it for SIGINT
# Modules of the extra `workflow` of pyproject.toml, without which the command does much.
_WORKFLOW_PACKAGES = (
    "filelock", "requests", "safetensors", "snakemake", "timm", "torch", "torchvision", "tqdm",
    "urllib3",
)  # fmt: skip


def run_command(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run a command; an `InputError` ends it with a one-line message on standard error."""
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
        _end(InputError(problem, remedy=remedy), error)
    except InputError as error:
        _end(error, error)
    except (EOFError, ValueError, TypeError) as error:
        told = cut_off_bytecode(error)
        if told is None:
            raise
        _end(told, error)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def cut_off_bytecode(error: BaseException) -> InputError | None:
    """Delete compiled code if an import has failed as it is cut off, and say so.

    Python before 3.12.8 leaves it so on a full disk, and never compiles it again (CPython 126606).
    """
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "_compile_bytecode":
            path = Path(frame.f_locals["bytecode_path"])
            for folder in (path.parent, *Path(__file__).parents[1].rglob("__pycache__")):
                shutil.rmtree(folder, ignore_errors=True)
            problem = "compiled code of Python was cut off, as by a full disk, and is deleted"
            return InputError(problem, file=path, remedy="Run the same command again")
    return None


def _end(told: InputError, cause: Exception) -> NoReturn:
    sys.stderr.write(f"error: {' '.join(str(told).splitlines())}\n")
    raise SystemExit(1) from cause


def run_job(job: Any) -> None:
    """Run the function that a rule names, `module:name`, with its job's arguments and log file."""
    function = named_function(job.params.function)
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
        told = cut_off_bytecode(error) or error
        LOGGER.error("%s failed", job.params.function, exc_info=told)
        raise SystemExit(1) from error


def job_arguments(function: Callable[..., None], job: Any) -> dict[str, Any]:
    """Collect the arguments of a rule's function from its job, converted to the annotated types.

    An argument `threads` is the number of threads that the job has.
    """
    named = [dict(part.items()) for part in (job.params, job.input, job.output)]
    wildcards = dict(job.wildcards.items()) | {"threads": job.threads}
    parameters = named[0].pop("job", {})
    if isinstance(parameters, str):  # as `Rule.packed` returns them
        parameters = json.loads(parameters)
    expected = inspect.signature(function).parameters
    unused = sorted(set(parameters) - set(expected))
    if unused:
        raise TypeError(f"the rule passes {', '.join(unused)}, which its script does not take")
    arguments = {}
    for name in expected:
        found = [place[name] for place in (parameters, *named) if name in place]
        if not found and name in wildcards:
            found = [wildcards[name]]
        if len(found) != 1:
            raise TypeError(f"the rule passes '{name}' {len(found)} times, not once")
        arguments[name] = _plain(found[0])
    return converted(function, arguments)


def _plain(value: Any) -> Any:
    """Convert Snakemake's lists and texts to Python's."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def set_up_logging() -> None:
    """Send messages of level INFO and above to standard error, unless logging is configured."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Printable("%(message)s"))
    # The Hugging Face hub's client tells each of its requests.
    handler.addFilter(lambda record: not record.name.startswith("httpx"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _Printable(logging.Formatter):
    """Writes control characters of names and metadata visibly."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def show_progress() -> bool:
    """Whether to draw progress bars: only if standard error is a terminal."""
    return sys.stderr.isatty()
