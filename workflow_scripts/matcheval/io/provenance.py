"""Provenance of files: software versions, and digests of the code that wrote them."""

import ast
import hashlib
import platform
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = "matcheval"
_ROOT = Path(__file__).parents[1]
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def software_versions(*packages: str) -> dict[str, str]:
    """Look up the versions of Python, of this library and of other packages.

    Parameters
    ----------
    *packages : str
        Names of installed distributions.

    Returns
    -------
    dict
        Versions by name: `python`, `matcheval`, and each package.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        If a package is not installed.
    """
    from matcheval.version import __version__

    versions = {"python": platform.python_version(), PACKAGE: __version__}
    return versions | {name: metadata.version(name) for name in packages}


@cache
def code_digest(script: Path, *modules: str) -> str:
    """Compute a digest of a script and of the library code that it imports, also indirectly.

    Rules have it as a parameter, so that an edit of the library re-runs exactly the rules that use
    the edited code: Snakemake itself tracks a rule's script, but not the script's imports.

    Parameters
    ----------
    script : Path
        A Python file.
    *modules : str
        Full names of further modules of the library, which the script imports by name.

    Returns
    -------
    str
        16 hexadecimal digits. Comments, docstrings and layout do not affect it; the minor version
        of Python may.

    Raises
    ------
    FileNotFoundError
        If the script or a module does not exist.
    ValueError
        If the script, or a module that it imports, has relative imports.
    """
    dump, imports = _parse(script.read_text(encoding="utf-8"))
    dumps = {"script": dump}
    pending = [*imports, *(module.removeprefix(f"{PACKAGE}.") for module in modules)]
    while pending:
        name = pending.pop()
        if name not in dumps:
            dumps[name], imports = _parse(_source(name).read_text(encoding="utf-8"))
            pending.extend(imports)
    joined = "\n".join(f"{name} {dumps[name]}" for name in sorted(dumps))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


@cache
def _parse(code: str) -> tuple[str, frozenset[str]]:
    """Dump the syntax tree of code, and find its imports; cached, as scripts share most modules."""
    tree = ast.parse(code)
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree), _imports(tree)


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
