"""Provenance of files: software versions, digests of the code, and what results were made from."""

import ast
import hashlib
import json
import logging
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import file_digest, write_text
from matcheval.io.self_digests import digest_of

PACKAGE = "matcheval"
_SCRIPTS = Path(__file__).parents[2]
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def software_versions(*packages: str) -> dict[str, str]:
    """Look up the versions of Python, of this library and of other installed distributions."""
    from matcheval import __version__

    versions = {"python": platform.python_version(), PACKAGE: __version__}
    return versions | {name: metadata.version(name) for name in packages}


@cache
def code_digest(*names: str) -> str:
    """Digest the code of some modules and of all library modules that they import, directly or not.

    Rules have it as a parameter, so that an edit of the library repeats the jobs whose code imports
    the edited module: Snakemake itself tracks a rule's script, but not what the script imports.
    `names` are modules or functions, `module:name`. Comments, docstrings and layout do not count.
    """
    modules, pending = dict[str, str](), [name.partition(":")[0] for name in names]
    while pending:
        name = pending.pop()
        if name not in modules and (file := _source_file(name)).is_file():
            modules[name], imported = _parse_module(file.read_text(encoding="utf-8"))
            pending += [name.rpartition(".")[0], *imported]  # its package runs, too
    joined = "\n".join(f"{name} {code}" for name, code in sorted(modules.items()))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


@cache
def _parse_module(code: str) -> tuple[str, frozenset[str]]:
    """Return a module's code as text, without docstrings, and which library modules it imports."""
    tree = ast.parse(code)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        elif isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise ValueError("relative imports are not followed: use absolute imports")
            # In `from package import name`, the name may be a module or an object in one.
            imported.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return ast.dump(tree), frozenset(n for n in imported if n.split(".")[0] == PACKAGE)


def _source_file(name: str) -> Path:
    path = _SCRIPTS.joinpath(*name.split("."))
    package = path / "__init__.py"  # a folder without it is left of an earlier version
    return package if package.is_file() else path.with_suffix(".py")


class CodeDigests:
    """Caches `code_digest` in a file, as long as no source file changes.

    To parse the source files takes a second, to read them a twentieth of it.
    """

    def __init__(self, scripts: Path, file: Path) -> None:
        self._scripts, self._file = scripts, file
        self._is_saved = True

    def __call__(self, *names: str) -> str:
        """Return `code_digest` of modules or functions; compute it only if it is not yet known."""
        key = " ".join(names)
        if key not in self._digests:
            self._digests[key] = code_digest(*names)
            self._is_saved = False
        return self._digests[key]

    def save(self) -> None:
        """Write the digests to the file if some were computed."""
        if self._is_saved:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            digests = {"sources": self.sources, "digests": self._digests}
            write_text(self._file, json.dumps(digests))
        except (OSError, InputError) as error:  # they are computed again
            logging.info("digests of code are not kept: %s", error)
        self._is_saved = True

    @cached_property
    def _digests(self) -> dict[str, str]:
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


# --- results that several studies share, and the links by which a study's outputs name them

# Snakemake removes the outputs of a job before the job runs. What takes long to make is therefore
# kept at a place that no rule declares; the declared outputs are relative links to it. A job makes
# what is missing or outdated there, so that nothing is lost when it fails, and nothing is computed
# again because a neighbour in its batch changed.
KEPT = ".kept"  # of a study: results of its own that are kept


def publish(kept: Path, declared: Path) -> None:
    """Replace a declared output by a relative link to a kept file."""
    declared.parent.mkdir(parents=True, exist_ok=True)
    declared.unlink(missing_ok=True)
    declared.symlink_to(os.path.relpath(kept, declared.parent))


def origin_of(key: str, reads: Sequence[Path]) -> str:
    """Return a digest of settings (`key`) and of the contents of input files (`reads`)."""
    return digest_of([key, [file_digest(file) for file in reads]])


def is_made_from(files: Sequence[Path], origin: str) -> bool:
    """Whether files are unchanged since `record_origin` recorded this origin for them."""
    try:
        recorded = json.loads(_origin_file(files).read_bytes())
        return bool(recorded == _origin_record(files, origin))
    except (OSError, ValueError):  # a file or the mark is missing or damaged
        return False


def record_origin(files: Sequence[Path], origin: str) -> None:
    """Write what files were made from, and their SHA-256, into a hidden file beside the first."""
    write_text(_origin_file(files), json.dumps(_origin_record(files, origin)))


def _origin_file(files: Sequence[Path]) -> Path:
    return files[0].with_name(f".{files[0].name}.origin.json")


def _origin_record(files: Sequence[Path], origin: str) -> dict[str, object]:
    return {"origin": origin, "sha256": [file_digest(file) for file in files]}
