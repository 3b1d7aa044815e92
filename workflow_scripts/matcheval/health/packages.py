"""Whether the packages that this one needs are installed, in versions that it works with."""

import sys
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from matcheval.health.findings import NOTE, OK, PROBLEM, Finding
from matcheval.health.versions import version_of

_DISTRIBUTION = "matched-eval"
_OLDEST = (3, 11)
# What parts of the package are for; each is named as pip does.
_EXTRAS = {
    "": "comparing predictions",
    "workflow": "running studies: training, inference, Snakemake",
}


def check_python() -> Iterator[Finding]:
    """Check the version of Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    is_old = sys.version_info[:2] < _OLDEST
    yield Finding(
        "Python", PROBLEM if is_old else OK, f"{version}, {sys.executable}",
        "Install Python 3.11 or newer; `make PYTHON=python3.12` uses another one" if is_old else "",
    )  # fmt: skip


def check_packages() -> Iterator[Finding]:
    """Check the packages that this one declares."""
    try:
        declared = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding(
            "packages", NOTE, "this library is used from its folder, and not installed",
            "pip install -e . in the repository",
        )  # fmt: skip
        return
    requirements = [Requirement(text) for text in declared]
    for extra, purpose in _EXTRAS.items():
        wanted = [one for one in requirements if _is_of(one, extra)]
        yield _finding(extra, purpose, wanted)


def _is_of(requirement: Requirement, extra: str) -> bool:
    if requirement.marker is None:
        return not extra
    always = requirement.marker.evaluate({"extra": ""})
    return not extra if always else requirement.marker.evaluate({"extra": extra}) and bool(extra)


def _finding(extra: str, purpose: str, wanted: list[Requirement]) -> Finding:
    found = {one.name: version_of(one.name) for one in wanted}
    missing = sorted(name for name, version in found.items() if version is None)
    wrong = [
        f"{one.name} {version} (needs {one.specifier})"
        for one in wanted
        if (version := found[one.name]) is not None and not one.specifier.contains(version, True)
    ]
    name = f"packages [{extra}]" if extra else "packages"
    if not missing and not wrong:
        return Finding(name, OK, f"all {len(wanted)} are here, for {purpose}")
    what = [f"not installed: {', '.join(missing)}"] if missing else []
    what += [f"other versions than those that it works with: {', '.join(wrong)}"] if wrong else []
    target = f"'.[{extra}]'" if extra else "."
    return Finding(
        name, NOTE if extra and missing and not wrong else PROBLEM,
        f"{'; '.join(what)}. They are for {purpose}",
        f"pip install {target} in the repository, or `make demo`",
    )  # fmt: skip
