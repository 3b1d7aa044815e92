"""What made a file: software versions, and digests of the code that matters."""

import ast
import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = "matcheval"
_ROOT = Path(__file__).parents[1]


def software_versions(*packages: str) -> dict[str, str]:
    """Versions of Python, this library and the named packages.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        If a named package is not installed.
    """
    from matcheval import __version__

    versions = {"python": platform.python_version(), PACKAGE: __version__}
    return versions | {name: metadata.version(name) for name in packages}


@cache
def code_digest(script: Path) -> str:
    """Digest of a script and of the library code that it imports, directly or indirectly.

    Rules take it as a parameter, so that an edit of the library re-runs just the rules that
    use what was edited: Snakemake by itself sees a rule's script, not what it imports.

    Parameters
    ----------
    script : Path
        A Python file.

    Returns
    -------
    str
        16 hexadecimal digits; comments and layout do not count, docstrings do. Other minor
        versions of Python may give another digest.

    Raises
    ------
    FileNotFoundError
        If the script does not exist.
    """
    dump, imports = _read(script.read_text(encoding="utf-8"))
    dumps = {"script": dump}
    waiting = list(imports)
    while waiting:
        name = waiting.pop()
        if name not in dumps:
            dumps[name], imports = _read(_source(name).read_text(encoding="utf-8"))
            waiting.extend(imports)
    joined = "\n".join(f"{name} {dumps[name]}" for name in sorted(dumps))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


@cache
def _read(code: str) -> tuple[str, frozenset[str]]:
    """Syntax of some code as text, and the modules it imports; scripts share most of them."""
    tree = ast.parse(code)
    return ast.dump(tree), _imports(tree)


def _source(name: str) -> Path:
    path = _ROOT.joinpath(*filter(None, name.split(".")))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(tree: ast.AST) -> frozenset[str]:
    """Modules of this library that a syntax tree imports, relative to the package."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError("relative imports are not followed: import by full name")
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import name`: the name may be a module or an object of one.
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    own = {name for name in found if f"{name}.".startswith(f"{PACKAGE}.")}
    # Importing a module runs its parent packages too.
    parts = [name.split(".")[1:] for name in own]
    parents = {".".join(part[:n]) for part in parts for n in range(len(part) + 1)}
    return frozenset(name for name in parents if _source(name).is_file())
