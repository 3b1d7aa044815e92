"""What commands and plans import: nobody waits for packages that are not used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    "letters.csv": "label,prediction,probability\n" + 20 * "0,0,0.5\n1,0,x\n",
}


def loaded_by(folder, *command) -> tuple[set[str], str]:
    """The modules that a command has loaded when it ends, and all that it printed."""
    variables = os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command], cwd=folder, text=True, check=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=variables,
    )  # fmt: skip
    told, _, loaded = result.stdout.rpartition("\nloaded ")
    return set(loaded.split()), told


@pytest.mark.parametrize(
    ("command", "said", "allowed"),
    [
        (["--help"], "warehouse", set()),
        (["--version"], "pyarrow", set()),
        (["compare", "--help"], "--paired", set()),
        (["compare-models", "--help"], "--fail-if", set()),
        (["compare-models", "good.csv", "none.csv"], "none.csv: no such file", set()),
        (["predict-accuracy", "--help"], "--calibration", set()),
        (["label-plan", "--help"], "--half-width", set()),
        (["estimate-accuracy", "good.csv", "--labels", "none.csv"], "none.csv: no such", set()),
        (["replicate", "sample", "--help"], "--frequencies", set()),
        (["doctor", "--help"], "--gpu", set()),
        (["init", "--help"], "ORIGINAL", {"numpy", "pyarrow", "pydantic"}),
        (["compare", "good.csv", "none.csv"], "none.csv: no such file", set()),
        (["match", "good.csv", "none.csv", "--output", "x"], "none.csv: no such file", set()),
        (["predict-accuracy", "good.csv", "none.csv"], "none.csv: no such file", set()),
        (["check-study", "none.yaml"], "none.yaml: no such file", set()),
        (
            ["compare", "good.csv", "good.csv", "--epsilon", "2"], "epsilon is 2.0",
            {"numpy", "pyarrow"},
        ),
        (
            ["compare", "good.csv", "classes.csv"], "column probability missing",
            {"numpy", "pyarrow"},
        ),
        (["compare", "good.csv", "letters.csv"], "'probability'", TABLES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_commands_import_what_they_use(tmp_path, command, said, allowed):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    loaded, told = loaded_by(tmp_path, "matcheval.cli", *command)
    assert said in told
    assert not loaded & (COMPUTING | TABLES) - allowed


def test_a_table_needs_no_figures(tmp_path):
    (tmp_path / "good.csv").write_text(FILES["good.csv"])
    loaded, told = loaded_by(tmp_path, "matcheval.cli", "compare", "good.csv", "good.csv")
    assert "matched on confidence" in told
    unused = {"jinja2", "matplotlib", "PIL", "sklearn", "torch", "pyarrow.parquet"}
    # Numba itself imports the package `scipy` alone.
    assert not loaded & (unused | {"scipy.linalg", "scipy.special"})


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
