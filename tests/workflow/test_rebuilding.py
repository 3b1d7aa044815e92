"""Only what changed is rebuilt: real runs of Snakemake on a small study."""

import os
import re
import shutil
import sys

import psutil
from engine import Workflow, own_study

# What follows the matching, in the small study: 2 matchings, 1 reliability model in the first of 2
# batches.
AFTER_MATCHING = {
    "tabulate_runs": 1, "estimate_gaps": 1, "write_summary": 1,
    "plot_confidence": 1, "plot_matched_accuracy": 2, "plot_gaps": 2,
}  # fmt: skip
# What follows the counting of what is right, for its one pair.
AFTER_COUNTING = {
    "tabulate_replication": 1, "fit_replication": 1, "plot_replication": 2,
    "summarize_replication": 1,
}  # fmt: skip
FIRST_BATCH = {"match_and_save_pairs": 1, "plot_reliability": 2}
MATCHING = {"match_predictions": 1, **FIRST_BATCH, **AFTER_MATCHING}


def jobs(plan):
    """Jobs by rule, without the target and the report, which follows all else."""
    return {rule: n for rule, n in plan.jobs.items() if rule not in ("all", "write_report")}


def test_nothing_to_do_the_second_time(small):
    assert "Nothing to be done" in small.run("--dry-run").stdout + small.run("--dry-run").stderr


def test_one_models_recipe(small):
    before = small.artifacts()
    small.edit("studies/small.csv", "linear,trained,linear,0,0,cross_entropy,,none,constant,3",
               "linear,trained,linear,0,0,cross_entropy,,none,constant,1")  # fmt: skip
    plan = small.plan()
    assert plan.trained == ["linear"]
    assert plan.predicted == ["linear"]
    # The matching of its batch, and not of the other one.
    assert jobs(plan) == {
        "train_model": 1, "predict_datasets": 1, **FIRST_BATCH, **AFTER_MATCHING,
        "count_correct": 2, **AFTER_COUNTING,
    }  # fmt: skip
    small.run("results/digits/tables/new-writers/probability.csv")
    after = small.artifacts()
    changed = {name for name in before if before[name] != after[name]}
    of_others = {name for name in changed if re.search(r"/(mlp|cnn\.v1)\.", name)}
    assert not of_others
    assert "checkpoints/linear.safetensors" in changed
    assert "digits/tables/new-writers/probability.csv" in changed


def test_a_note_in_the_catalogue_is_no_change(small):
    small.edit("studies/small.csv", ",1,0,\n", ",1,0,the simplest\n")
    assert jobs(small.plan()) == {}


def test_epsilon(small):
    small.edit("small.yaml", "{seeds: 4", "{epsilon: 0.01, seeds: 4")
    assert jobs(small.plan()) == MATCHING


def test_named_matchings(small):
    """A sweep is read once; each matching has its files, and the default ones keep theirs."""
    table = small.folder / "results/digits/tables/new-writers/probability.csv"
    before = table.read_bytes()
    small.edit(
        "small.yaml",
        "{seeds: 4",
        """{matchings: {
        probability: {criterion: probability},
        wide: {criterion: probability, epsilon: 0.1},
        ranks: {criterion: label_probability, score: confidence_rank, order: random}}, seeds: 4""",
    )
    assert jobs(small.plan()) == MATCHING | {
        "plot_matched_accuracy": 3,
        "plot_gaps": 3,
        "plot_reliability": 3,
    }
    done = small.run()
    assert "Start reading here:\n  results/digits/report.html " in done.stdout + done.stderr
    assert table.read_bytes() == before
    page = (small.folder / "results/digits/summary.md").read_text()
    assert "**new-writers**, ranks: criterion 1 (predicted label and probability) on pooled" in page
    assert "| new-writers | wide | 600 | 497 | 3 | 4 | 0.1 |" in page
    small.run("check")
    log = (small.folder / "results" / "digits" / "logs" / "check.log").read_text()
    assert " passed" in log
    assert "skipped" not in log


def test_number_of_seeds(small):
    small.edit("small.yaml", "seeds: 4", "seeds: 5")
    assert jobs(small.plan()) == MATCHING


def test_a_model_more(small):
    row = "late,trained,linear,0,0,brier,,none,constant,1,64,0.1,0,1,0,\n"
    catalogue = small.folder / "studies" / "small.csv"
    catalogue.write_text(catalogue.read_text() + row)
    plan = small.plan()
    assert plan.trained == ["late"]
    # It joins the second batch; the first one is left alone.
    assert jobs(plan)["match_predictions"] == 1
    assert "match_and_save_pairs" not in jobs(plan)


def test_code_of_the_matching(small):
    small.edit(
        "workflow_scripts/matcheval/protocol/matching.py", "UNMATCHED = -1", "UNMATCHED = -2 + 1"
    )
    assert jobs(small.plan()) == MATCHING


def test_edits_that_change_nothing(small):
    """Comments, functions that nobody calls, spaces in commands; the times of all code."""
    library = "workflow_scripts/matcheval"
    small.edit(f"{library}/protocol/matching.py", "UNMATCHED = -1", "UNMATCHED = -1  # !")
    tables = small.folder / library / "io" / "files.py"
    tables.write_text(tables.read_text() + "\n\ndef nobody_calls_this():\n    return 1\n")
    small.edit("rules/training.smk", '"python -m train ', '"python -m  train ')
    for folder in ("rules", "workflow_scripts"):
        for path in (small.folder / folder).rglob("*"):
            os.utime(path)
    assert jobs(small.plan()) == {}


def test_results_that_are_copied_without_their_times(built, tmp_path):
    """Contents are compared, also of predictions, which Snakemake does not see."""
    shutil.copytree(built.folder, tmp_path / "tree", symlinks=True, copy_function=shutil.copyfile)
    copied = Workflow(tmp_path / "tree", built.python)
    folder = copied.folder / "results/predictions/digits-known"
    for path in (folder, *folder.iterdir()):
        os.utime(path)  # after all indexes
    assert jobs(copied.plan()) == {}
    shutil.copyfile(folder / "linear.parquet", folder / "mlp.parquet")
    os.utime(folder / "mlp.parquet")
    assert copied.plan().predicted == ["mlp"]


def test_code_of_a_figure(small):
    path = small.folder / "workflow_scripts/matcheval/protocol/confidence.py"
    path.write_text(path.read_text() + "\nCHANGED = True\n")
    assert jobs(small.plan()) == {"plot_confidence": 1}


def test_settings_of_the_fits(small):
    small.edit("small.yaml", "figures:", "replication: {resamples: 500}\nfigures:")
    assert jobs(small.plan()) == {"fit_replication": 1, "plot_replication": 2}


def test_code_of_the_bootstrap(small):
    small.edit("workflow_scripts/matcheval/statistics/resampling.py", "= 1e-6", "= 1e-7")
    assert jobs(small.plan()) == {"fit_replication": 1, "plot_replication": 2}


def test_code_of_the_summary(small):
    small.edit("workflow_scripts/matcheval/protocol/words.py", "}: accuracy gaps", "}: gaps")
    assert jobs(small.plan()) == {"write_summary": 1}


def test_a_deleted_prediction_file(small):
    (small.folder / "results/predictions/digits-known/mlp.parquet").unlink()
    plan = small.plan()
    assert plan.trained == []
    assert plan.predicted == ["mlp"]
    assert jobs(plan) == {
        "predict_datasets": 1, **FIRST_BATCH, **AFTER_MATCHING,
        "count_correct": 1, **AFTER_COUNTING,
    }  # fmt: skip


def test_logits_on_request(small):
    small.run("predictions", "--config", "inference={outputs: [logits]}")
    path = small.folder / "results/predictions/digits-known/cnn.v1.logits.parquet"
    assert path.is_file()


def test_the_same_bytes_again(small):
    """By interpreters of their own, which other tests do without."""
    before = small.artifacts()
    for path in (small.folder / "results").rglob("linear.*"):
        path.unlink()
    small.python = sys.executable
    done = small.run("predictions", "matched")
    assert "Made: 1 × train_model, 1 × predict_datasets, " in done.stdout + done.stderr
    after = small.artifacts()
    assert set(after) == set(before)
    assert [name for name in after if after[name] != before[name]] == []


def processes(folder):
    """Command lines of the processes whose working directory is the folder."""
    lines = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder):
                lines.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue  # ended meanwhile, or not ours
    return lines


class TestKilled:
    """SIGKILL leaves whole files or none, and the next run completes to the same bytes."""

    def test_the_whole_run(self, built, tmp_path):
        """While a model is trained."""
        workflow = built.copy_to(tmp_path / "tree")
        shutil.rmtree(workflow.folder / "results")

        def one_is_trained() -> bool:
            """Whether a job of this tree runs the rule's script."""
            return any("-m train " in line for line in processes(workflow.folder))

        workflow.kill_when(one_is_trained)
        whole = built.artifacts()
        for name, content in workflow.artifacts().items():
            assert ".partial-" in name or content == whole[name], f"{name} is half-written"
        workflow.run("--unlock")
        workflow.run("matched")
        made = workflow.artifacts()
        assert made.items() <= whole.items()
        assert {name for name in whole if "/matched/" in name} <= set(made)

    def test_a_job_alone(self, small):
        """Its failure is told in a table; the others finish; the next run makes what is missing."""
        before = small.artifacts()
        for model in ("mlp", "linear"):
            (small.folder / f"results/checkpoints/{model}.safetensors").unlink()
            (small.folder / f"results/predictions/digits-known/{model}.parquet").unlink()
        kill_once = (
            "import os, sys, signal\n"
            "if 'mlp' in sys.argv and not os.path.exists('spared'):\n"
            "    open('spared', 'w').close()\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        main = 'if __name__ == "__main__":'
        small.edit("workflow_scripts/train.py", main, kill_once + main)
        result = small.run("predictions", "matched", "--keep-going", check=False)
        assert result.returncode == 1
        output = result.stdout + result.stderr
        assert re.search(
            r"^rule +model +log +reason\n"
            r"train_model +mlp +results/logs/train_model/mlp.log +killed by SIGKILL",
            output,
            re.MULTILINE,
        )
        assert re.search(r"^\[[\d:]+\] \d+ of \d+ \(\d+%\): train_model linear$", output, re.M)
        assert "Traceback" not in output
        assert "returned non-zero exit status" not in output
        assert (small.folder / "results/checkpoints/linear.safetensors").exists()
        assert not (small.folder / "results/checkpoints/mlp.safetensors").exists()
        small.run("predictions", "matched")
        assert small.artifacts() == before


def test_predictions_of_ones_own_that_are_replaced_by_older_ones(tmp_path):
    workflow = own_study(tmp_path / "tree")
    workflow.run("matched", "--configfile", "mine.yaml")
    path = workflow.folder / "new" / "b.csv"
    path.write_text(path.read_text().replace("0.5\n", "0.55\n"))
    os.utime(path, (1, 1))
    assert jobs(workflow.plan("--configfile", "mine.yaml"))["match_predictions"] == 1


def test_what_an_earlier_configuration_left_is_not_checked(small):
    """Such as a third batch, where there are two now."""
    folder = small.folder / "results/digits/matched/new-writers/probability"
    batches = sorted(folder.iterdir())
    assert len(batches) == 2
    shutil.copy(batches[-1], folder / "002.parquet")
    small.run("check")
