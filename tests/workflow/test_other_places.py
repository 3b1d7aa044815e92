"""The workflow used as others use workflows: from another folder, as a module, by snakedeploy."""

import re

from engine import Workflow, custom_study

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
    assert set(plan.jobs) == {"me_write_summary", "me_all"}
    # The handlers: checks before the first job, and the table of failures.
    assert (study.results / "studies/mine.json").is_file()
    clone.edit(WORDS, "# {title}", "# {1 / 0}")
    told = study.run("me_write_summary", fails=True)
    assert re.search(
        r"^me_write_summary +Summ.* +\S+\.log +ZeroDivisionError: division", told, re.M
    )
