"""The built wheel in a fresh environment: what works there without torch and Snakemake.

`make wheel-test`. Packages come from pip's index; where there is none, the tests are skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_NEEDED = ("torch", "torchvision", "timm", "snakemake", "safetensors", "requests", "pytest")
# Without this checkout, which pip would take for an installation.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def pip(*arguments, python=sys.executable):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python"]
    command += map(str, (python, *arguments))
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources: a folder `build` here may hold old modules."""
    folder = tmp_path_factory.mktemp("wheel")
    probe = pip("download", "--no-deps", "--dest", folder / "probe", "packaging")
    if probe.returncode:
        pytest.skip(f"pip reaches no package index: {probe.stderr.strip().splitlines()[-1]}")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "workflow_scripts", source / "workflow_scripts", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = pip("wheel", "--no-deps", "--wheel-dir", folder, source)
    assert not built.returncode, built.stderr
    (found,) = folder.glob("matched_eval-*.whl")
    return found


@pytest.fixture(scope="module")
def binaries(wheel):
    """The folder of the commands of a fresh environment that the wheel is installed in."""
    folder = wheel.parent / "environment"
    venv.create(folder, with_pip=False)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    # Without the hashes, of which pip accepts none for constraints.
    lines = (ROOT / "envs" / "workflow.txt").read_text().splitlines()
    versions = [line.removesuffix("\\") for line in lines if not line.startswith(" ")]
    constraints = wheel.parent / "constraints.txt"
    constraints.write_text("\n".join(versions))
    arguments = ("--no-compile", "--constraint", constraints, wheel)
    installed = pip("install", *arguments, python=binaries / "python")
    assert not installed.returncode, installed.stderr
    return binaries


@pytest.fixture
def run(binaries, tmp_path):
    """Run a command of the environment in an empty folder, away from this checkout."""

    def run(name, *arguments):
        command = [str(binaries / name), *map(str, arguments)]
        options = {"cwd": tmp_path, "env": ENVIRONMENT}
        return subprocess.run(command, capture_output=True, text=True, **options)

    return run


CONTENTS = f"""
import json
from importlib.resources import files
from importlib.util import find_spec
import matcheval
print([name for name in {NOT_NEEDED} if find_spec(name)])
print(matcheval.__file__)
schema = files("matcheval").joinpath("results.schema.json").read_text("utf-8")
print(*json.loads(schema)["$defs"])
"""


def test_it_holds_the_library_alone_and_what_pages_name(wheel, run):
    """Without torch and Snakemake, with the schema of JSON outputs."""
    found, file, commands = run("python", "-c", CONTENTS).stdout.splitlines()
    assert found == "[]"
    assert "site-packages" in file
    assert "compare" in commands.split()
    for page in ("cli.md", "python.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        named = set(re.findall(r"matched[-_.]eval-[\w.-]+\.whl", text))
        assert named == {wheel.name}, page


def test_compare_writes_table_figures_and_report(run, tmp_path):
    rows = [f"{i % 3},{i % 3 if i % 5 else (i + 1) % 3},0.{50 + i % 50}" for i in range(100)]
    for name in ("old", "new"):
        text = "\n".join(["label,prediction,probability", *rows[: 100 if name == "old" else 60]])
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    done = run("matched-eval", "compare", "old.csv", "new.csv", "--output", "out")
    assert not done.returncode, done.stderr
    assert "matched gap" in done.stdout
    for name in ("report.html", "tables/pair/probability.csv", "figures/pair/probability/gaps.svg"):
        assert (tmp_path / "out" / name).stat().st_size > 100
    assert "<svg" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_examples_of_the_python_page(run, tmp_path):
    shutil.copy(ROOT / "tests" / "examples.py", tmp_path)
    done = run("python", "examples.py", ROOT / "docs" / "python.md")
    assert done.stdout.startswith("all "), done.stdout + done.stderr


def test_help_needs_nothing_heavy(run):
    done = run("matched-eval", "predict-accuracy", "--help")
    assert not done.returncode, done.stderr
