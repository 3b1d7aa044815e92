"""Provenance of files: software versions, and digests of the code that wrote them."""

import ast
import hashlib
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = "matcheval"
_ROOT = Path(__file__).parents[1]
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def software_versions(*packages: str) -> dict[str, str]:
    """Look up the versions of Python, of this library and of other packages."""
    from matcheval.version import __version__

    versions = {"python": platform.python_version(), PACKAGE: __version__}
    return versions | {name: metadata.version(name) for name in packages}


@cache
def code_digest(script: Path, *modules: str) -> str:
    """Compute a digest of a script and of the library code that it imports, also indirectly."""
    whole = {module.removeprefix(f"{PACKAGE}.") for module in modules}
    code = enumerate(_parse(script.read_text(encoding="utf-8")))
    used = [("script", place, one) for place, one in code]
    unused: dict[str, list[tuple[str, int, _Statement]]] = {}  # by name
    words: set[str] = set()
    seen: set[str] = set()
    for *_, statement in used:  # grows
        for name in sorted({*statement.imports, *whole} - seen):
            seen.add(name)
            for place, one in enumerate(_parse(_source(name).read_text(encoding="utf-8"))):
                if one.function and one.function not in words and name not in whole:
                    unused.setdefault(one.function, []).append((name, place, one))
                else:
                    used.append((name, place, one))
        for word in statement.words - words:
            used += unused.pop(word, ())
        words |= statement.words
    ordered = sorted(used, key=lambda one: one[:2])
    joined = "\n".join(f"{name} {statement.dump}" for name, _, statement in ordered)
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Statement:
    """A statement of a module that is in no other."""

    dump: str
    imports: frozenset[str]
    words: frozenset[str]
    function: str


@cache
def _parse(code: str) -> tuple[_Statement, ...]:
    """Parse the statements of code, without docstrings; cached, as scripts share most modules."""
    tree = ast.parse(code)
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tuple(_statement(node) for node in tree.body)


def _statement(node: ast.stmt) -> _Statement:
    dump = ast.dump(node)
    function = node.name if isinstance(node, ast.FunctionDef) and not node.decorator_list else ""
    return _Statement(dump, _imports(node), frozenset(re.findall(r"\w+", dump)), function)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree and all statements in it; no expression holds an import or a docstring."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, block, ())


def _source(name: str) -> Path:
    path = _ROOT.joinpath(*filter(None, name.split(".")))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(tree: ast.AST) -> frozenset[str]:
    """Modules of this library that a syntax tree imports, named relative to the package."""
    found: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError("relative imports are not followed: use absolute imports")
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # In `from package import name`, the name may be a module or an object in one.
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    internal = {name for name in found if f"{name}.".startswith(f"{PACKAGE}.")}
    # Importing a module runs its parent packages too.
    parts = [name.split(".")[1:] for name in internal]
    parents = {".".join(part[:n]) for part in parts for n in range(len(part) + 1)}
    return frozenset(name for name in parents if _source(name).is_file())
