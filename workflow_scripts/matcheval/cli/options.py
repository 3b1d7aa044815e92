"""Options of a command, from the signature and docstring of the Python function that it runs."""

import argparse
import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PARAMETER = re.compile(r"^(\w[\w, ]*) : (.+)\n((?: {4}.+\n?)+)", re.MULTILINE)
_TYPES = {"int": int, "float": float, "path-like": Path}


def add_options(parser: argparse.ArgumentParser, function: str, *names: str) -> None:
    """Add arguments of a function as options; those without a default are required.

    The function is read, not imported, so that help texts do not wait for what it needs.
    """
    module, _, function_name = function.rpartition(".")
    file = getattr(find_spec(module), "origin", None)
    body = ast.parse(Path(str(file)).read_text(encoding="utf-8")).body
    (node,) = (n for n in body if isinstance(n, ast.FunctionDef) and n.name == function_name)
    values = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    defaults = {name.arg: ast.literal_eval(value) for name, value in values if value is not None}
    for parameters, kind, text in _PARAMETER.findall(ast.get_docstring(node) or ""):
        for parameter in set(parameters.split(", ")) & set(names):
            option, default = f"--{parameter.replace('_', '-')}", defaults.get(parameter)
            words = " ".join(text.replace("`", "").replace("%", "%%").split()).rstrip(".")
            words = words[0].lower() + words[1:]
            if kind == "bool":
                parser.add_argument(option, action="store_true", help=words)
                continue
            more: dict[str, Any] = {"choices": re.findall(r'"(\w+)"', kind) or None}
            if more["choices"] is None:
                more["type"] = _TYPES.get(kind.partition(",")[0], str)
                more["metavar"] = "FILE" if more["type"] is Path else parameter.upper()
            shown = "" if default is None else f" (default: {default})"
            parser.add_argument(
                option, default=default, required=parameter not in defaults, help=words + shown,
                **more,
            )  # fmt: skip
