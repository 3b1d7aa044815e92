"""The public Python interface as text, which a committed file is compared with.

    PYTHONPATH=workflow_scripts python tests/python_api.py

enters what it is now into tests/data/python_api.txt: do so where a change is intended.
"""

import ast
import dataclasses
import inspect
import textwrap
from pathlib import Path

import matcheval

FILE = Path(__file__).parent / "data" / "python_api.txt"


def described() -> str:
    """All public names: signatures of functions, fields and methods of classes."""
    return "\n".join(line for name in sorted(matcheval.__all__) for line in _lines(name)) + "\n"


def _lines(name):
    found = getattr(matcheval, name)
    if not callable(found):
        yield name
    elif not inspect.isclass(found):
        yield f"{name}{_signature(found)}"
    else:
        base = "" if found.__bases__ == (object,) else f"({found.__bases__[0].__name__})"
        yield f"class {name}{base}"
        if dataclasses.is_dataclass(found):
            yield from (f"    {field}: {kind}" for field, kind in _fields(found))
        for method, value in vars(found).items():
            if inspect.isfunction(value) and not method.startswith("_"):
                yield f"    {method}{_signature(value)}"


def _tree(thing):
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _fields(found):
    """Public fields with their types as they are written, which no version of Python changes."""
    assert found.__dataclass_params__.frozen, found
    for node in _tree(found).body:
        if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            yield node.target.id, _text(node.annotation)


def _signature(function):
    tree, parts = _tree(function), []
    kinds = {one.arg: one.annotation for one in (*tree.args.args, *tree.args.kwonlyargs)}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = kinds.get(name)
        part = name if kind is None else f"{name}: {_text(kind)}"
        default = parameter.default
        parts.append(part if default is parameter.empty else f"{part} = {default!r}")
    return f"({', '.join(parts)}) -> {_text(tree.returns)}"


def _text(annotation):
    return ast.unparse(annotation).strip("'\"")


if __name__ == "__main__":
    FILE.write_text(described(), encoding="utf-8")
