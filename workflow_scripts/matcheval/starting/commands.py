"""The commands that a person types next, as they work on this machine."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import matcheval


def run_command_line(study: Path) -> str | None:
    """Return the command that runs a study in the working directory."""
    snakemake = _program("snakemake")
    workflow = snakefile()
    if snakemake is None or workflow is None:
        return None
    place = [] if workflow == Path("Snakefile") else ["--snakefile", str(workflow)]
    return shlex.join([snakemake, *place, "--cores", "all", "--configfile", str(study)])


def own_command_line(arguments: Sequence[str]) -> str:
    """Return a command line of `matched-eval`."""
    return shlex.join([_program("matched-eval") or "matched-eval", *arguments])


def _program(name: str) -> str | None:
    """Return how a program of this environment is called: by its name if that is the one found."""
    own = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if not own.is_file():
        return name if found else None
    if found and Path(found).resolve() == own.resolve():
        return name
    here = Path.cwd()
    return str(own.relative_to(here) if own.is_relative_to(here) else own)


def snakefile() -> Path | None:
    """Return the workflow: that of the working directory, or that which this library is part of."""
    if Path("Snakefile").is_file() and Path("workflow_scripts/matcheval").is_dir():
        return Path("Snakefile")
    own = Path(matcheval.__file__).parents[2] / "Snakefile"
    return own if own.is_file() else None
