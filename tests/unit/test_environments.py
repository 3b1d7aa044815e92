"""The pinned versions agree: lock file, conda environments, requirements."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def lock():
    lines = (ROOT / "envs" / "lock.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 for pin in pins)
    return {name.lower().replace("_", "-"): version for name, version in pins}


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [
        Requirement(text) for group in (project["dependencies"], *extras.values()) for text in group
    ]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_the_lock_satisfies_the_requirements(requirement):
    assert requirement.specifier.contains(lock()[requirement.name.lower()])


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_conda_environments_are_the_locks(path):
    environment = yaml.safe_load(path.read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    for pin in pip:
        name, version = pin.split("==")
        assert lock()[name] == version


def test_the_build_backend_is_pinned_to_the_locks():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build == [f"setuptools=={lock()['setuptools']}"]


def test_the_readme_names_the_test_command_of_ci():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^\s*make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)
