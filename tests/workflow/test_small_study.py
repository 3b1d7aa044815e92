"""The small study, run by the real Snakemake: results, refusals before any job, jobs on GPUs."""

import json
import subprocess

import pandas as pd
import pytest
from engine import Workflow, environment

from matcheval.cli.main import main

SIZES = {"digits-known": 600, "digits-new-writers": 497}


def test_the_command_line_gives_the_workflows_numbers(workflow, tmp_path):
    """`matched-eval match` with the study's names repeats the workflow's runs."""
    files = [f"{workflow.results}/predictions/{name}/cnn.v1.parquet" for name in SIZES]
    main(["match", *files, "--pair", "new-writers", "--seeds", "4",
          "--source", "original", "--output", str(tmp_path)])  # fmt: skip
    mine = pd.read_parquet(tmp_path / "runs.parquet")
    batches = (workflow.results / "digits/matched/new-writers/label_probability").glob("*.parquet")
    theirs = pd.concat(pd.read_parquet(path) for path in sorted(batches))
    theirs = theirs[theirs.model == "cnn.v1"].reset_index(drop=True)[list(mine.columns)]
    pd.testing.assert_frame_equal(mine, theirs)


def test_the_report_holds_figures_and_summary(workflow, tmp_path):
    """By a command without `--cores`."""
    report = tmp_path / "report.html"
    command = [part for part in workflow.command("--report", str(report)) if part != "2"]
    command.remove("--cores")
    subprocess.run(command, cwd=workflow.folder, env=environment(), check=True, capture_output=True)
    page = report.read_text(encoding="utf-8")
    for word in ("matched_accuracy.png", "confidence.png", "reliability", "summary.md"):
        assert word in page
    assert '"format": "png"' in page  # tells figures from tables of the same labels


def test_refused(tmp_path):
    workflow = Workflow.fresh(tmp_path / "tree", None)
    settings = ("matching={epsilom: 0.1}", "fomats=[pdf]")
    output = workflow.run("--config", *settings, fails=True)
    assert "unknown key 'epsilom'. Did you mean 'epsilon'?" in output
    assert "unknown key 'fomats'" in output
    assert output.count("rror") <= 2  # `WorkflowError in file ...` and nothing else
    assert "Traceback" not in output
    assert not workflow.results.exists()


# Put into `predict`: notes the GPU, and predicts without one.
BEGIN = "    stops = stop_condition(minutes, time.monotonic())\n"
NOTE = """
    import json, os
    assert config.device == "cuda"
    config = replace(config, device="cpu")
    begin = time.time()
    time.sleep(1.0)
    with open("notes", "a") as file:
        gpu = os.environ["CUDA_VISIBLE_DEVICES"]
        file.write(json.dumps({"gpu": gpu, "begin": begin, "end": time.time()}) + "\\n")
"""


@pytest.mark.slow
def test_as_many_jobs_as_gpus_each_with_its_own(copy, tmp_path):
    """The GPUs are names without devices; jobs note when they ran, and on which GPU."""
    copy.edit("workflow_scripts/predict.py", BEGIN, NOTE + BEGIN)
    copy.edit("small.yaml", "matching:", "inference: {device: cuda}\nmatching:")
    variables = {"CUDA_VISIBLE_DEVICES": "0,GPU-b7", "MATCHEVAL_GPU_LOCKS": str(tmp_path)}
    copy.run("predictions", "--cores", "6", **variables)
    notes = [json.loads(line) for line in (copy.folder / "notes").read_text().splitlines()]
    assert len(notes) == 3
    assert {note["gpu"] for note in notes} == {"0", "GPU-b7"}
    for note in notes:
        # Those that ran when this one began.
        others = [n for n in notes if n["begin"] <= note["begin"] < n["end"] and n is not note]
        assert len(others) <= 1
        assert note["gpu"] not in [other["gpu"] for other in others]
