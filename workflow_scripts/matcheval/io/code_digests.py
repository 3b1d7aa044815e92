"""Digests of scripts' code, kept on file as long as no source file changes."""

import hashlib
import json
import sys
from functools import cached_property
from pathlib import Path

from matcheval.io.files import atomic_file
from matcheval.io.provenance import PACKAGE, code_digest


class CodeDigests:
    """Computes `code_digest` of scripts, or remembers it."""

    def __init__(self, scripts: Path, file: Path) -> None:
        self._scripts, self._file = scripts, file
        self._is_saved = True

    def __call__(self, script: str, *modules: str) -> str:
        """Return the digest of a script."""
        key = " ".join((script, *modules))
        if key not in self._known:
            self._known[key] = code_digest(self._scripts / f"{script}.py", *modules)
            self._is_saved = False
        return self._known[key]

    def save(self) -> None:
        """Write the digests, if there are new ones."""
        if not self._is_saved:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(self._file) as path:
                path.write_text(json.dumps({"sources": self._sources, "digests": self._known}))
            self._is_saved = True

    @cached_property
    def _known(self) -> dict[str, str]:
        try:
            kept = json.loads(self._file.read_bytes())
            same = kept["sources"] == self._sources
            return dict(kept["digests"]) if same else {}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return {}  # not there yet, or damaged: they are computed again

    @cached_property
    def _sources(self) -> str:
        """A digest of names and contents of all source files, and of the version of Python."""
        digest = hashlib.sha256(sys.version.encode())
        for file in sorted(
            (*self._scripts.glob("*.py"), *self._scripts.glob(f"{PACKAGE}/**/*.py"))
        ):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(self._scripts)} {content}\n".encode())
        return digest.hexdigest()
