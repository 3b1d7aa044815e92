"""The pinned versions agree: lock file, conda environments, requirements."""

import ast
import re
import sys
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement

from studies import ROOT, declared_rules, rule_bodies


def lock():
    lines = (ROOT / "envs" / "lock.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 for pin in pins)
    return {name.lower().replace("_", "-"): version for name, version in pins}


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_the_lock_satisfies_the_requirements(requirement):
    assert requirement.specifier.contains(lock()[requirement.name.lower()])


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_conda_environments_are_the_locks(path):
    assert pins(path.stem).items() <= lock().items()


def test_the_build_backend_is_pinned_to_the_locks():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build == [f"setuptools=={lock()['setuptools']}"]


LIBRARY = ROOT / "workflow_scripts"
DECLARED = [one for one in declared_rules() if hasattr(one, "run")]


def modules(environment):
    """The modules that jobs with an environment begin with: scripts, and the library's functions.

    Those that are imported by name, such as builders of datasets and analyses, are among them.
    """
    rules = [one for one in DECLARED if one.environment == environment]
    found = {name.split(":")[0] for one in rules for name in (one.function, *one.code)}
    for _, rule in rule_bodies():
        script = re.search(r"workflow_scripts/(\w+)\.py|python -m (?!pytest)(\w+)", rule)
        if script and f"envs/{environment}.yaml" in rule:
            found.add(script[1] or script[2])
    return found


def pins(environment):
    """The packages that an environment lists."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text(encoding="utf-8")
    return dict(re.findall(r"^ {6}- (\S+)==(\S+)$", text, re.MULTILINE))


# Brought by requests and jinja2.
DEPENDENCIES = {"urllib3", "markupsafe"}
# Imported in functions that jobs with the environment `analysis` do not call.
DEEP_LEARNING = {"timm", "torch", "torchvision"}


def run_at_import(node):
    """What is run when a module is imported: nothing in functions or for type checking only."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from run_at_import(child)


def packages(module, walk, seen):
    """Packages that a module and those of the library it imports need, in the nodes of `walk`."""
    path = LIBRARY.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if file in seen or not file.is_file():
        return
    seen.add(file)
    for node in walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "matcheval":
                for n in range(1, len(parts) + 1):
                    yield from packages(".".join(parts[:n]), walk, seen)
            elif parts[0] not in sys.stdlib_module_names:
                yield parts[0]


def missing(environment, walk):
    """Distributions that jobs with an environment import, and that it does not list."""
    seen, listed, owners = set(), pins(environment), metadata.packages_distributions()
    needed = {name for module in modules(environment) for name in packages(module, walk, seen)}
    found = {owners[name][0].lower().replace("_", "-") for name in needed if name not in listed}
    assert len(seen) > 100
    return found - listed.keys() - DEPENDENCIES - {"pydantic-core"}


@pytest.mark.parametrize("environment", ["analysis", "models"])
def test_an_environment_has_what_its_jobs_import(environment):
    """Deep learning is imported by functions only that jobs for analysis do not call."""
    assert len(modules(environment)) >= 10
    assert missing(environment, run_at_import) == set()
    called = DEEP_LEARNING if environment == "analysis" else set()
    assert missing(environment, ast.walk) <= called


def test_both_containers_are_of_one_recipe():
    docker = (ROOT / "envs" / "Containerfile").read_text()
    apptainer = (ROOT / "envs" / "container.def").read_text()
    (image,) = re.findall(r"^FROM (\S+)$", docker, re.MULTILINE)
    assert re.findall(r"^From: (\S+)$", apptainer, re.MULTILINE) == [image]
    copied = set(" ".join(re.findall(r"^COPY (.+) \S+$", docker, re.MULTILINE)).split())
    assert set(re.findall(r"^    (\S+) /opt/matched-eval/\S+$", apptainer, re.MULTILINE)) == copied
    assert all((ROOT / file).exists() for file in copied)
    for recipe in (docker, apptainer):
        assert "envs/install.sh" in recipe
        assert "pip" not in recipe
    python = yaml.safe_load((ROOT / "envs" / "models.yaml").read_text())["dependencies"][0]
    assert f"/python:{python.partition('=')[2]}." in image
