"""What is installed and imported: pinned versions agree; nobody waits for packages not used."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from helpers import run_python
from matcheval.registry import ANALYSES
from matcheval.study.tables import TableAnalysis
from studies import ROOT, rule_bodies


def lock(name="lock"):
    """The newest pinned version of each package; all have hashes."""
    text = (ROOT / "envs" / f"{name}.txt").read_text()
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)(?: ; .+)? \\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[^ #]", text, re.MULTILINE))
    return dict(sorted(pins, key=lambda pin: Version(pin[1])))


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_the_lock_satisfies_the_requirements(requirement):
    assert requirement.specifier.contains(lock()[requirement.name.lower()])


def test_what_runs_the_workflow_is_of_the_same_versions():
    assert lock("workflow").items() <= lock().items()


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_conda_environments_are_the_locks(path):
    assert pins(path.stem).items() <= lock().items()


LIBRARY = ROOT / "workflow_scripts"


def modules(environment):
    """The modules that jobs with an environment begin with: scripts, and the library's functions.

    Those that are imported by name, such as builders of datasets and analyses, are among them.
    """
    found = set()
    for _, rule in rule_bodies():
        if f"envs/{environment}.yaml" in rule:
            found |= set(re.findall(r'MATCHEVAL_JOB" ([\w.]+):', rule))
            found |= set(re.findall(r'"(matcheval[\w.]+):\w+"', rule))
    if environment == "analysis":
        found |= {one.__module__ for one in ANALYSES if issubclass(one, TableAnalysis)}
    return found


def pins(environment):
    """The packages that an environment lists."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text(encoding="utf-8")
    return dict(re.findall(r"^ {6}- (\S+)==(\S+)$", text, re.MULTILINE))


# Brought by packages that are listed; of Snakemake's own process, or of commands.
NOT_LISTED = {"urllib3", "markupsafe", "pydantic-core", "packaging", "huggingface-hub"}
NOT_NEEDED = {
    "analysis": {"torch", "torchvision", "timm", "open-clip-torch", "safetensors", "requests"},
    "models": {"jinja2"},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("environment", ["analysis", "models"])
def test_an_environment_has_what_its_jobs_import(environment):
    """What is not needed is not imported with the modules that jobs begin with."""
    owners, names = metadata.packages_distributions(), set()
    for file in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.split(".")[0])
    own = {"matcheval", *(path.stem for path in LIBRARY.iterdir())}
    others = {name for name in names - own - sys.stdlib_module_names if "snakemake" not in name}
    needed = {owners[name][0].lower().replace("_", "-") for name in others}
    assert needed - pins(environment).keys() - NOT_LISTED == NOT_NEEDED[environment]
    assert len(modules(environment)) >= 10
    code = (
        "import sys; from importlib import import_module\n"
        f"sys.modules |= dict.fromkeys({NOT_NEEDED[environment]})\n"
        f"for name in {modules(environment)}: import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=LIBRARY, check=True)


# What is slow to import; pandas among it, where Snakemake does not import it anyway.
COMPUTING = {"jinja2", "matplotlib", "numba", "scipy", "sklearn", "timm", "torch", "torchvision"}
TABLES = {"numpy", "pandas", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "pydantic"}
# Runs a program, then prints which modules are loaded.
PROGRAM = (
    "import runpy, sys\n"
    "try:\n    runpy.run_module(sys.argv.pop(1), run_name='__main__')\n"
    "except SystemExit:\n    pass\n"
    "print('\\nloaded', *sorted(sys.modules))\n"
)
FILES = {
    "good.csv": "label,prediction,probability\n" + 20 * "0,0,0.5\n1,0,0.75\n",
    "classes.csv": "label,prediction\n" + 20 * "0,0\n1,0\n",
}


def loaded_by(folder, *command) -> tuple[set[str], str]:
    """The modules that a command has loaded when it ends, and all that it printed."""
    result = run_python("-c", PROGRAM, *command, cwd=folder)
    told, _, loaded = (result.stderr + result.stdout).rpartition("\nloaded ")
    return set(loaded.split()), told


@pytest.mark.parametrize(
    ("command", "said", "allowed"),
    [
        (["--help"], "warehouse", set()),
        (["compare-models", "good.csv", "none.csv"], "none.csv: no such file", set()),
        (["compare", "good.csv", "none.csv"], "none.csv: no such file", set()),
        (
            ["compare", "good.csv", "good.csv", "--epsilon", "2"], "epsilon is 2.0",
            {"numpy", "pyarrow"},
        ),
        (
            ["compare", "good.csv", "classes.csv"], "column probability missing",
            {"numpy", "pyarrow"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_commands_import_what_they_use(tmp_path, command, said, allowed):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    loaded, told = loaded_by(tmp_path, "matcheval.cli", *command)
    assert said in told
    assert not loaded & (COMPUTING | TABLES) - allowed


def test_a_plan_imports_nothing_that_computes(tmp_path):
    for name in ("Snakefile", "config.yaml", "rules", "workflow_scripts", "studies", "envs"):
        (tmp_path / name).symlink_to(ROOT / name)
    loaded, told = loaded_by(tmp_path, "snakemake", "--dry-run", "--cores", "1")
    assert "train_model" in told
    # Snakemake itself imports Jinja; an executor for SLURM, where that is installed, pandas.
    assert not loaded & COMPUTING - {"jinja2"}


def test_jobs_that_match_import_neither_tables_nor_figures(tmp_path):
    loaded, _ = loaded_by(tmp_path, "matcheval.protocol.jobs")
    assert not loaded & (COMPUTING | {"pandas"})
