"""The pinned versions agree: lock file, conda environments, requirements."""

import ast
import re
import sys
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


LIBRARY = ROOT / "workflow_scripts"
PACKAGES = {
    "urllib3": "requests",
    "PIL": "pillow",
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def imported(file, seen):
    """Packages that a script and the library's modules it imports need as soon as they start."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    blocks = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE" in ast.dump(node.test))
    ]
    for node in blocks:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = LIBRARY.joinpath(*name.split("."))
            module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if name.startswith("matcheval"):
                if module.is_file() and module not in seen:
                    seen.add(module)
                    yield from imported(module, seen)
            elif name.split(".")[0] not in sys.stdlib_module_names:
                yield name.split(".")[0]


def jobs():
    """The script and the environment of every rule."""
    for file in sorted((ROOT / "rules").glob("*.smk")):
        for rule in re.split(r"^ *rule\b", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[
            1:
        ]:
            script = re.search(r"workflow_scripts/(\w+)\.py|python -m (\w+) (?!python|\{)", rule)
            environment = re.search(r"envs/(\w+)\.yaml", rule)
            if script and environment:
                yield script[1] or script[2], environment[1]


@pytest.mark.parametrize(("script", "environment"), sorted(set(jobs())))
def test_a_jobs_environment_has_what_its_script_imports(script, environment):
    if script == "pytest":
        return
    needed = set(imported(LIBRARY / f"{script}.py", set()))
    pins = (ROOT / "envs" / f"{environment}.yaml").read_text(encoding="utf-8")
    missing = {name for name in needed if f"- {PACKAGES.get(name, name)}==" not in pins}
    assert not missing
