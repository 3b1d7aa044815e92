"""Only what changed is rebuilt: real runs of Snakemake on a small study."""

import os
import re
import shutil
import sys

import psutil
import pytest
from engine import Workflow

LIBRARY = "workflow_scripts/matcheval"
# What follows the matching, in the small study: 2 matchings, 1 reliability model in the first of 2
# batches.
AFTER_MATCHING = {
    "tabulate_runs": 1, "estimate_gaps": 1, "write_summary": 1,
    "plot_matching": 1,
}  # fmt: skip
FITS = {"fit_replication": 1, "plot_replication": 1}
# What follows the counting of what is right, for its one pair.
AFTER_COUNTING = {"tabulate_replication": 1, **FITS, "summarize_replication": 1}
PAGES = {"write_summary": 1, "plot_matching": 1}
MATCHING = {"match_predictions": 2, "save_matched_pairs": 1, **AFTER_MATCHING}
MATCHINGS = """{matchings: {
    probability: {criterion: probability},
    wide: {criterion: probability, epsilon: 0.1},
    ranks: {criterion: label_probability, score: confidence_rank, order: random}}, seeds: 4"""


def times(workflow):
    """When checkpoints and predictions were written, of whatever study."""
    files = [*workflow.results.glob("checkpoints/[!.]*"), *workflow.results.glob("predictions/*/*")]
    return {str(file): file.stat().st_mtime_ns for file in files}


def jobs(plan):
    """Jobs by rule, without the target and the report, which follows all else."""
    return {rule: n for rule, n in plan.jobs.items() if rule not in ("all", "write_report")}


@pytest.mark.parametrize(
    ("file", "old", "new", "repeated"),
    [
        ("small.yaml", "{seeds: 4", "{epsilon: 0.01, seeds: 4", MATCHING),
        ("small.yaml", "figures:", "replication: {resamples: 500}\nfigures:", FITS),
        (f"{LIBRARY}/protocol/matching.py", "UNMATCHED = -1", "UNMATCHED = -2 + 1", MATCHING),
        (f"{LIBRARY}/protocol/figures.py", "Mean confidence (%)", "Mean confidence in %", PAGES),
    ],
)  # fmt: skip
def test_an_edit_repeats_what_it_concerns(copy, file, old, new, repeated):
    copy.edit(file, old, new)
    assert jobs(copy.plan()) == repeated


@pytest.mark.slow
def test_one_models_recipe(copy):
    assert "Nothing to be done" in copy.run("--dry-run")
    before = copy.artifacts()
    recipe = "linear,trained,linear,0,0,cross_entropy,,none,constant,"
    copy.edit("studies/small.csv", f"{recipe}3", f"{recipe}1")
    plan = copy.plan()
    # Jobs of all models, which train and run only the one.
    assert jobs(plan) == {
        "train_models_1": 1, "predict_models_1": 1, **MATCHING, "count_correct": 2,
        **AFTER_COUNTING,
    }  # fmt: skip
    written = times(copy)
    copy.run("results/digits/tables/new-writers/probability.csv")
    after = copy.artifacts()
    changed = {name for name in before if before[name] != after[name]}
    assert not {name for name in changed if re.search(r"/(mlp|cnn\.v1)\.", name)}
    assert {"checkpoints/linear.safetensors", "digits/tables/new-writers/probability.csv"} < changed
    again = {file for file, time in times(copy).items() if time != written[file]}
    assert again == {file for file in written if "/linear." in file}


@pytest.mark.slow
def test_named_matchings(copy):
    """A sweep is read once; each matching has its files, and the default ones keep theirs."""
    table = copy.results / "digits/tables/new-writers/probability.csv"
    before = table.read_bytes()
    copy.edit("small.yaml", "{seeds: 4", MATCHINGS)
    assert jobs(copy.plan()) == MATCHING
    assert "Start reading here: results/digits/report.html\n" in copy.run()
    assert table.read_bytes() == before
    # What an earlier configuration left is not checked, such as a third batch, where there are two.
    folder = copy.results / "digits/matched/new-writers/probability"
    assert len(list(folder.glob("*.parquet"))) == 2
    shutil.copy(folder / "001.parquet", folder / "002.parquet")
    copy.run("check")
    log = (copy.results / "digits/logs/check.log").read_text()
    assert " passed" in log
    assert "skipped" not in log


@pytest.mark.slow
def test_a_model_more(copy):
    with (copy.folder / "studies/small.csv").open("a") as catalogue:
        catalogue.write("late,trained,linear,0,0,brier,,none,constant,1,64,0.1,0,1,0,\n")
    plan = copy.plan()
    assert {"train_models_1", "predict_models_1"} < set(jobs(plan))
    before = times(copy)
    copy.run("matched")
    assert before.items() < times(copy).items()


def test_edits_that_change_nothing(copy):
    """Comments, spaces in commands; the times of all code."""
    copy.edit(f"{LIBRARY}/protocol/matching.py", "UNMATCHED = -1", "UNMATCHED = -1  # !")
    copy.edit("rules/training.smk", "train_models {params", "train_models  {params")
    for folder in ("rules", "workflow_scripts"):
        for path in (copy.folder / folder).rglob("*"):
            os.utime(path)
    assert jobs(copy.plan()) == {}


class TestResultsElsewhere:
    """Snakemake knows nothing of results that were moved; they must be of the study's settings."""

    def test_a_changed_setting_is_refused(self, copy):
        shutil.rmtree(copy.folder / ".snakemake")
        copy.results.rename(copy.folder / "renamed")
        results = ("--config", "results=renamed")
        assert jobs(copy.plan(*results)) == {}
        copy.edit("small.yaml", "{seeds: 4", "{epsilon: 0.01, seeds: 4")
        told = copy.run("--dry-run", *results, fails=True)
        assert "digits: these results were made with matching.epsilon null, and the" in told
        assert "says 0.01" in told
        copy.run("--unlock", *results)
        copy.edit("small.yaml", "{epsilon: 0.01, seeds: 4", "{seeds: 4")
        assert jobs(copy.plan(*results)) == {}

    def test_one_job_does_not_make_the_others_known(self, copy):
        """Nor a folder without what the study ran with."""
        shutil.rmtree(copy.folder / ".snakemake")
        (copy.results / "digits/summary.md").unlink()
        copy.run("results/digits/summary.md")
        copy.edit("small.yaml", "{seeds: 4", "{epsilon: 0.01, seeds: 4")
        assert "were made with matching.epsilon" in copy.run("--dry-run", fails=True)
        (copy.results / "digits/.made_with.json").unlink()
        told = copy.run("--dry-run", fails=True)
        assert "it is not known what the results in here were made with. Delete" in told

    @pytest.mark.slow
    def test_copies_without_their_times(self, workflow, tmp_path):
        """In any order: what is repeated trains no model and runs none."""
        shutil.copytree(
            workflow.folder, tmp_path / "tree", symlinks=True, copy_function=shutil.copyfile
        )
        copied = Workflow(tmp_path / "tree", workflow.python)
        shutil.rmtree(copied.folder / ".snakemake")
        before = workflow.artifacts()
        for path in copied.results.rglob("*.*"):
            os.utime(path, (1, hash(path.name) % 1000), follow_symlinks=False)
        written = times(copied)
        copied.run()
        assert copied.artifacts() == before
        assert times(copied) == written

    def test_predictions_of_earlier_weights(self, copy):
        """As from a backup, with their times."""
        file = copy.results / "predictions/digits-known/linear.parquet"
        shutil.copy2(file, copy.folder / "earlier.parquet")
        copy.edit("studies/small.csv", "none,constant,3", "none,constant,1")
        copy.run("predictions")
        assert file.read_bytes() != (copy.folder / "earlier.parquet").read_bytes()
        shutil.copy2(copy.folder / "earlier.parquet", file)
        copy.edit("small.yaml", "{seeds: 4", "{epsilon: 0.01, seeds: 4")
        told = copy.run("matched", fails=True)
        assert f"{file}: these are not predictions of results/digits/checkpoints/linear" in told
        file.unlink()
        assert "Delete results/digits/predictions, which has links" in copy.run(fails=True)
        shutil.rmtree(copy.results / "digits/predictions")
        assert jobs(copy.plan("matched"))["predict_models_1"] == 1


@pytest.mark.slow
def test_the_check_runs_always_and_sees_later_damage(copy):
    told = [copy.run("check").splitlines() for _ in range(2)]
    lines = [[one for one in each if "files passed" in one] for each in told]
    assert len(lines[0]) == 1
    assert lines[0] == lines[1]
    for place, check in (
        ("digits/figures/new-writers/confidence.png", "test_figures_are_whole"),
        ("checkpoints/mlp.safetensors", "test_no_file_is_damaged"),
    ):
        file = copy.results / place
        state, content = file.stat(), file.read_bytes()
        at = len(content) // 2
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
        assert check in copy.run("check", fails=True)
        file.write_bytes(content)


@pytest.mark.slow
def test_the_same_bytes_again(copy):
    """By interpreters of their own, which other tests do without; and logits on request."""
    before = copy.artifacts()
    for path in copy.results.rglob("linear.*"):
        path.unlink()
    copy.python = sys.executable
    assert "Finished jobid: " in copy.run("predictions", "matched")
    assert copy.artifacts() == before
    copy.run("predictions", "--config", "inference={outputs: [logits]}")
    assert (copy.results / "predictions/digits-known/cnn.v1.logits.parquet").is_file()


def processes(folder):
    """Command lines of the processes whose working directory is the folder."""
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder):
                yield " ".join(process.cmdline())
        except psutil.Error:
            continue  # ended meanwhile, or not ours


class TestKilled:
    """SIGKILL leaves whole files or none, and the next run completes to the same bytes."""

    @pytest.mark.slow
    def test_the_whole_run(self, workflow, copy):
        """While a model is trained."""
        shutil.rmtree(copy.results)
        copy.kill_when(lambda: any("job.py train:" in line for line in processes(copy.folder)))
        whole = workflow.artifacts()
        for name, content in copy.artifacts().items():
            assert ".partial-" in name or content == whole[name], f"{name} is half-written"
        copy.run("--unlock")
        copy.run("matched")
        made = copy.artifacts()
        assert made.items() <= whole.items()
        assert {name for name in whole if "/matched/" in name} <= set(made)

    def test_a_job_alone(self, copy):
        """Its failure is told in a table; the others finish; the next run makes what is missing."""
        before = copy.artifacts()
        for model in ("mlp", "linear"):
            for folder in (copy.results, copy.results / "digits"):
                (folder / f"checkpoints/{model}.safetensors").unlink()
                (folder / f"predictions/digits-known/{model}.parquet").unlink()
        kill_once = (
            "    import os, signal\n"
            "    if name == 'mlp' and not os.path.exists('spared'):\n"
            "        open('spared', 'w').close()\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        begin = "    start = time.perf_counter()\n"
        copy.edit("workflow_scripts/train.py", begin, kill_once + begin)
        output = copy.run("predictions", "matched", "--keep-going", fails=True)
        assert re.search(
            r"^rule +job +log +reason\n"
            r"train_models_1 +Training 3 models, batch 1 +\S+/1.log"
            r" +.*1 of 3 failed; mlp: killed by SIGKILL",
            output,
            re.MULTILINE,
        )
        assert (copy.results / "checkpoints/linear.safetensors").exists()
        assert not (copy.results / "checkpoints/mlp.safetensors").exists()
        copy.run("predictions", "matched")
        assert copy.artifacts() == before
