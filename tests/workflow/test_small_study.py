"""The small study, run by the real Snakemake: properties of its results."""

import re
import subprocess

import pandas as pd
import pyarrow.parquet as pq
from engine import environment

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


def test_the_studys_own_report_tells_results_and_where_they_come_from(workflow):
    page = (workflow.results / "digits/report.html").read_text(encoding="utf-8")
    summary = (workflow.results / "digits/summary.md").read_text(encoding="utf-8")
    claims = re.findall(r"^- \*(?:established|suggested|inconclusive)\*: (.+?\.)", summary, re.M)
    remaining = re.findall(r"On matched pairs, (\S+ \[[^]]+\]) remain", summary)
    assert (len(claims), len(remaining)) == (4, 2)
    for text in (claims[0].removesuffix("."), f"{remaining[0]} points", *remaining):
        assert text in page
    weights = workflow.results / "predictions/digits-known/cnn.v1.parquet"
    assert pq.read_schema(weights).metadata[b"weights_sha256"].decode() in page
    assert "snakemake." not in page  # wildcards of captions are filled in
