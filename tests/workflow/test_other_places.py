"""The workflow used as others use workflows: from another folder, as a module, by snakedeploy."""

import os
import re
import sys
import sysconfig

import pytest
from engine import Workflow, custom_study

pytestmark = pytest.mark.slow

# As `snakedeploy deploy-workflow` writes it, but for the Snakefile, which is GitHub's there.
MODULE = """\
from snakemake.utils import min_version


min_version("6.10.0")


configfile: "config/config.yaml"


# declare https://github.com/owner/matched-eval as a module
module matched_eval:
    snakefile:
        "../../clone/Snakefile"
    config:
        config


# use all rules from https://github.com/owner/matched-eval
use rule * from matched_eval
"""
HANDLERS = """
onstart:
    matched_eval.start_run()


onerror:
    matched_eval.tell_failures(log)
"""
WORDS = "workflow_scripts/matcheval/protocol/words.py"
EDITED = ("write_summary", "plot_matching", "write_report", "all")  # what its edit repeats


def study_beside_a_clone(folder, snakefile="") -> tuple[Workflow, Workflow]:
    """A study of prediction files in a folder of its own, and a clone of the workflow."""
    clone, mine = custom_study(folder / "clone"), folder / "mine"
    (mine / "config").mkdir(parents=True)
    (clone.folder / "small.yaml").rename(mine / "config/config.yaml")
    for name in ("old", "new", "studies"):
        (clone.folder / name).rename(mine / name)
    if snakefile:
        (mine / "workflow").mkdir()
        (mine / "workflow/Snakefile").write_text(snakefile)
    return Workflow(mine), clone


def test_from_another_folder(tmp_path):
    study, _ = study_beside_a_clone(tmp_path)
    options = ("--snakefile", "../clone/Snakefile", "--configfile", "config/config.yaml")
    study.run(*options)
    assert "files passed" in study.run("check", *options)
    assert "Nothing to be done" in study.run("--dry-run", *options)


def test_as_a_module_with_other_names(tmp_path):
    snakefile = MODULE.replace("from matched_eval\n", "from matched_eval as me_*\n") + HANDLERS
    study, clone = study_beside_a_clone(tmp_path, snakefile)
    study.run()
    assert "files passed" in study.run("me_check")
    clone.edit(WORDS, "}: accuracy gaps", "}: gaps")
    plan = study.plan("--rerun-triggers", "mtime", "params", "input", "software-env")
    assert {*plan.jobs} == {f"me_{rule}" for rule in EDITED}
    # The handlers: checks before the first job, and the table of failures.
    assert (study.results / "studies/mine.json").is_file()
    clone.edit(WORDS, "# {title}", "# {1 / 0}")
    told = study.run("me_write_summary", fails=True)
    assert re.search(
        r"^me_write_summary +Summ.* +\S+\.log +ZeroDivisionError: division", told, re.M
    )


def test_as_snakedeploy_makes_it(tmp_path):
    study, _ = study_beside_a_clone(tmp_path, MODULE)
    study.run("results/mine/summary.md")


# A stand-in for conda: its environments have the packages of this one, but not the library.
CONDA = f"""#!{sys.executable}
import json, os, subprocess, sys
from pathlib import Path
here = Path(__file__).resolve().parent
match sys.argv[1:]:
    case ["--version"]:
        print("conda 25.1.0")
    case ["info", "--json"]:
        print(json.dumps({{"conda_prefix": str(here.parent), "platform": "linux-64"}}))
    case ["clean", *_]:
        pass
    case ["config", *_]:
        print(json.dumps({{"get": {{"channel_priority": "strict"}}}}))
    case ["env", "create", *options]:
        prefix = Path(options[options.index("--prefix") + 1])
        venv = [sys.executable, "-m", "venv", "--without-pip", str(prefix)]
        subprocess.run(venv, check=True)
        (place,) = prefix.glob("lib/python*/site-packages")
        (place / "packages.pth").write_text({sysconfig.get_paths()["purelib"]!r})
    case other:
        sys.exit(f"not known: {{other}}")
"""


def test_jobs_in_environments_of_conda_find_the_library(tmp_path):
    """It is beside the scripts, and in no environment; PYTHONPATH does not reach such jobs."""
    binaries = tmp_path / "conda/bin"
    binaries.mkdir(parents=True)
    (binaries / "conda").write_text(CONDA)
    (binaries / "conda").chmod(0o755)
    (binaries / "activate").write_text('export PATH="$1/bin:$PATH"\n')
    study = Workflow.fresh(tmp_path / "tree")
    study.keep_models("studies/small.csv", ["linear", "mlp"])
    study.python = sys.executable
    options = ("--software-deployment-method", "conda", "--config", "replication={resamples: 50}")
    table = "results/digits/replication/new-writers/top1.csv"  # by jobs of both environments
    told = study.run(table, *options, PATH=f"{binaries}:{os.environ['PATH']}")
    assert told.count("created") == 2
    assert (study.folder / table).is_file()
