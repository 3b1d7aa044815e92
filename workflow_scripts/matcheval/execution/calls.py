"""Call functions of the library by name, with arguments as JSON values, as rules declare them."""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

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
