"""The pinned versions agree: lock file, conda environments, requirements."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement

from matcheval.stages import STAGES
from studies import ROOT, declared_rules, rule_bodies


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
    assert pins(path.stem).items() <= lock().items()


def test_the_build_backend_is_pinned_to_the_locks():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build == [f"setuptools=={lock()['setuptools']}"]


def test_the_readme_names_the_test_command_of_ci():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^\s*make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


LIBRARY = ROOT / "workflow_scripts"
DECLARED = [one for one in declared_rules() if hasattr(one, "run")]
# Imports the modules named on standard input, with nothing but what the distributions named as
# arguments require.
IMPORT = """
import importlib, re, sys
from importlib import metadata
from packaging.requirements import Requirement

def plain(name):
    return re.sub("[-_.]+", "-", name).lower()

pending, allowed = list(sys.argv[1:]), {"packaging", "matched-eval"}
while pending:
    name = plain(pending.pop())
    if name not in allowed:
        allowed.add(name)
        try:
            needed = map(Requirement, metadata.requires(name) or ())
        except metadata.PackageNotFoundError:
            continue  # for another platform
        pending += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
owners = metadata.packages_distributions()

class Refusing:
    def find_spec(self, name, path=None, target=None):
        owning = {plain(owner) for owner in owners.get(name.split(".")[0], ())}
        if owning and not owning & allowed:
            raise ModuleNotFoundError(f"{name} is not in the environment", name=name)

for name in list(sys.modules):
    if name.split(".")[0] in owners:
        del sys.modules[name]
sys.meta_path.insert(0, Refusing())
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(f"{name}: {error}")
"""


def modules(environment):
    """The modules that jobs with an environment begin with: scripts, and the library's functions.

    Builders of datasets and algorithms, which are imported by name, are among them.
    """
    found = {one.run.__module__ for one in DECLARED if one.environment == environment}
    for _, rule in rule_bodies():
        script = re.search(r"workflow_scripts/(\w+)\.py|python -m (?!pytest)(\w+)", rule)
        if script and f"envs/{environment}.yaml" in rule:
            found.add(script[1] or script[2])
    return found | {name for script in found & set(STAGES) for name in STAGES[script].modules}


def pins(environment):
    """The packages that an environment lists."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text(encoding="utf-8")
    return dict(re.findall(r"^ {6}- (\S+)==(\S+)$", text, re.MULTILINE))


def missing(modules, packages):
    """Which of some modules cannot be imported with some packages alone, and why."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, *packages], input=" ".join(modules), text=True, check=True,
        capture_output=True, env=os.environ | {"PYTHONPATH": str(LIBRARY)},
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.parametrize("environment", ["analysis", "models"])
def test_an_environment_has_what_its_jobs_import(environment):
    assert len(modules(environment)) > 10
    assert missing(sorted(modules(environment)), pins(environment)) == []


def test_a_missing_package_is_noticed():
    (message,) = missing(["matcheval.analyses.groups"], set(pins("analysis")) - {"pandas"})
    assert "pandas is not in the environment" in message


# Brought by requests and jinja2.
DEPENDENCIES = {"urllib3", "markupsafe"}
# Imported in functions that jobs with the environment `analysis` do not call.
DEEP_LEARNING = {"timm", "torch", "torchvision"}


def imported_anywhere(module, seen):
    """Packages that a module and those of the library it imports need, in functions as well."""
    path = LIBRARY.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if file in seen or not file.is_file():
        return
    seen.add(file)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.startswith("matcheval"):
                yield from imported_anywhere(name, seen)
            elif name.split(".")[0] not in sys.stdlib_module_names:
                yield name.split(".")[0]


@pytest.mark.parametrize("environment", ["analysis", "models"])
def test_an_environment_has_what_functions_import(environment):
    seen, needed = set(), set()
    for module in modules(environment):
        needed |= set(imported_anywhere(module, seen))
    owners = metadata.packages_distributions()
    listed = set(pins(environment)) | ({"pydantic-core"} if "pydantic" in needed else set())
    names = {name: owners[name][0].lower().replace("_", "-") for name in needed}
    left_out = DEEP_LEARNING if environment == "analysis" else set()
    assert {name for name, owner in names.items() if owner not in listed} <= left_out | DEPENDENCIES


def test_both_containers_are_of_one_recipe():
    docker = (ROOT / "envs" / "Containerfile").read_text()
    apptainer = (ROOT / "envs" / "container.def").read_text()
    (image,) = re.findall(r"^FROM (\S+)$", docker, re.MULTILINE)
    assert re.findall(r"^From: (\S+)$", apptainer, re.MULTILINE) == [image]
    copied = {
        file
        for line in re.findall(r"^COPY (.+) \S+$", docker, re.MULTILINE)
        for file in line.split()
    }
    assert set(re.findall(r"^    (\S+) /opt/matched-eval/\S+$", apptainer, re.MULTILINE)) == copied
    assert all((ROOT / file).exists() for file in copied)
    for recipe in (docker, apptainer):
        assert "envs/install.sh" in recipe
        assert "pip" not in recipe
    python = yaml.safe_load((ROOT / "envs" / "models.yaml").read_text())["dependencies"][0]
    assert f"/python:{python.partition('=')[2]}." in image
