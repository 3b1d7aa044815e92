"""Provenance of files: software versions, and digests of the code that wrote them."""

import ast
import hashlib
import json
import logging
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import atomic_file

PACKAGE = "matcheval"
_SCRIPTS = Path(__file__).parents[2]
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Decorators that do nothing else than change what they decorate.
_HARMLESS = {"dataclass", "cache", "lru_cache", "contextmanager", "compiled"}


def software_versions(*packages: str) -> dict[str, str]:
    """Look up the versions of Python, of this library and of other installed distributions."""
    from matcheval.version import __version__

    versions = {"python": platform.python_version(), PACKAGE: __version__}
    return versions | {name: metadata.version(name) for name in packages}


@cache
def code_digest(*names: str) -> str:
    """Compute a digest of the code of some functions and of all code they use, also indirectly.

    Rules have it as a parameter, so that an edit of the library repeats exactly the jobs that use
    the edited code: Snakemake itself tracks a rule's script, but not what the script imports.
    `names` are of the form `module:name`, or `module` for all that it holds. Comments, docstrings
    and layout do not count, nor does what nothing names in the rest of this code.
    """
    whole = {name for name in names if ":" not in name}
    used: dict[tuple[str, int], _Statement] = {}  # by module and place in it
    pending: list[tuple[str, _Statement]] = []
    waiting: dict[_Key, list[tuple[str, int, _Statement]]] = {}  # by what would make them count
    named: set[_Key] = {name.partition(":")[::2] for name in names}
    reached: set[str] = set()

    def use(module: str, place: int, statement: _Statement) -> None:
        if (module, place) not in used:
            used[module, place] = statement
            pending.append((module, statement))

    def reach(module: str) -> None:
        parts = module.split(".")
        for name in (".".join(parts[: n + 1]) for n in range(len(parts))):  # its packages run, too
            if name in reached:
                continue
            reached.add(name)
            for place, statement in enumerate(_parse(_source(name).read_text(encoding="utf-8"))):
                keys = statement.counts_by(name)
                if not keys or name in whole or not named.isdisjoint(keys):
                    use(name, place, statement)
                for key in keys:
                    waiting.setdefault(key, []).append((name, place, statement))

    for name in sorted(names):
        reach(name.partition(":")[0])
        if ":" in name and name.partition(":")[::2] not in waiting:
            raise ValueError(f"nothing defines {name}")
    for module, statement in pending:  # grows
        for key in {(module, name) for name in statement.ids} | statement.uses:
            named.add(key)
            for place in waiting.get(key, ()):
                use(*place)
        for imported in sorted(statement.imports):
            reach(imported)
    joined = "\n".join(f"{name} {used[name, place].dump}" for name, place in sorted(used))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


# A name of a module; with an empty module, an attribute of whatever, and with "text", a text.
_Key = tuple[str, str]


@dataclass(frozen=True, eq=False)
class _Statement:
    """A statement of a module that is in no other; an import of several names is one for each.

    `ids` are the names in it, `uses` what else it may use. `names` are those it defines if it does
    nothing else: it counts when one of them is used.
    """

    dump: str
    imports: frozenset[str]
    ids: frozenset[str]
    uses: frozenset[_Key]
    names: frozenset[str]
    kind: type[ast.stmt]

    def counts_by(self, module: str) -> set[_Key]:
        """Return the uses by which it counts; none if it always does."""
        places = [module]
        if self.kind not in (ast.Import, ast.ImportFrom):
            places.append("")
        if self.kind is ast.FunctionDef:
            places.append("text")
        return {(place, name) for place in places for name in self.names}


@cache
def _parse(code: str) -> tuple[_Statement, ...]:
    """Parse the statements of code, without docstrings; cached, as functions share modules."""
    tree = ast.parse(code)
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    parts: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            parts += [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
        elif isinstance(node, ast.Import):
            parts += [ast.Import([alias]) for alias in node.names]
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            parts.append(node)
    return tuple(map(_statement, parts))


def _statement(node: ast.stmt) -> _Statement:
    ids, uses = set[str](), set[_Key]()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            ids.add(part.id)
        elif isinstance(part, ast.Attribute):
            uses.add(("", part.attr))
        elif isinstance(part, ast.ImportFrom) and part.module:
            uses.update((part.module, alias.name) for alias in part.names)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            uses.update(("text", word) for word in part.value.split(".") if word.isidentifier())
    return _Statement(
        ast.dump(node), _imports(node), frozenset(ids), frozenset(uses), frozenset(_names(node)),
        type(node),
    )  # fmt: skip


def _names(node: ast.stmt) -> Iterator[str]:
    """Names that a statement defines, none if it may do something else as well."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        decorators = [getattr(call, "func", call) for call in node.decorator_list]
        if {getattr(name, "id", "") for name in decorators} <= _HARMLESS:
            yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if all(isinstance(target, ast.Name) for target in targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree and all statements in it; no expression holds an import or a docstring."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, block, ())


def _source(name: str) -> Path:
    path = _SCRIPTS.joinpath(*name.split("."))
    package = path / "__init__.py"  # a folder without it is left of an earlier version
    return package if package.is_file() else path.with_suffix(".py")


def _imports(tree: ast.AST) -> frozenset[str]:
    """Full names of the modules of this library that a syntax tree imports."""
    imported: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError("relative imports are not followed: use absolute imports")
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # In `from package import name`, the name may be a module or an object in one.
            imported.add(node.module)
            imported.update(f"{node.module}.{alias.name}" for alias in node.names)
    internal = {name for name in imported if f"{name}.".startswith(f"{PACKAGE}.")}
    return frozenset(name for name in internal if _source(name).is_file())


class CodeDigests:
    """Computes `code_digest`, or remembers it in a file as long as no source file changes.

    To parse the source files takes a second, to read them a twentieth of it.
    """

    def __init__(self, scripts: Path, file: Path) -> None:
        self._scripts, self._file = scripts, file
        self._is_saved = True

    def __call__(self, *names: str) -> str:
        """Return the digest of the code that begins with some names, as for `code_digest`."""
        key = " ".join(names)
        if key not in self._known:
            self._known[key] = code_digest(*names)
            self._is_saved = False
        return self._known[key]

    def save(self) -> None:
        """Write the digests, if there are new ones."""
        if self._is_saved:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(self._file) as path:
                path.write_text(json.dumps({"sources": self.sources, "digests": self._known}))
        except (OSError, InputError) as error:  # they are computed again
            logging.info("digests of code are not kept: %s", error)
        self._is_saved = True

    @cached_property
    def _known(self) -> dict[str, str]:
        try:
            kept = json.loads(self._file.read_bytes())
            same = kept["sources"] == self.sources
            return dict(kept["digests"]) if same else {}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return {}  # not there yet, or damaged: they are computed again

    @cached_property
    def sources(self) -> str:
        """SHA-256 of Python's version and of the names and contents of all source files."""
        scripts = _digest_of_files(self._scripts, self._scripts.glob("*.py"))
        library = library_digest(self._scripts / PACKAGE)
        return hashlib.sha256(f"{sys.version} {scripts} {library}".encode()).hexdigest()


def library_digest(library: Path = _SCRIPTS / PACKAGE) -> str:
    """SHA-256 of the names and contents of all modules of the library, by default of this one."""
    return _digest_of_files(library, library.glob("**/*.py"))


def _digest_of_files(folder: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(folder)} {content}\n".encode())
    return digest.hexdigest()
