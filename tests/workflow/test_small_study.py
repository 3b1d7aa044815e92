"""The small study, run by the real Snakemake: properties of its results."""

import re
import subprocess

import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine import environment
from warm import warm_python

from matcheval.cli.main import main


def test_the_command_line_gives_the_workflows_numbers(built, tmp_path):
    """`matched-eval match` with the study's names repeats the workflow's runs."""
    results = built.folder / "results"
    model = "cnn.v1"
    files = [
        f"{results}/predictions/{d}/{model}.parquet" for d in ("digits-known", "digits-new-writers")
    ]
    main(["match", *files, "--pair", "new-writers", "--seeds", "4",
          "--output", str(tmp_path / "runs.parquet")])  # fmt: skip
    mine = pq.read_table(tmp_path / "runs.parquet").to_pandas()
    batches = sorted((results / "digits/matched/new-writers/label_probability").glob("*.parquet"))
    theirs = pd.concat(pd.read_parquet(path) for path in batches)
    theirs = theirs[theirs.model == model].reset_index(drop=True)[list(mine.columns)]
    pd.testing.assert_frame_equal(mine, theirs)


def test_the_report_holds_figures_and_summary(built, tmp_path):
    """By a command without `--cores`."""
    report = tmp_path / "report.html"
    study = ["--configfile", "small.yaml"]
    command = [warm_python(), "-m", "snakemake", "--report", str(report), *study]
    subprocess.run(command, cwd=built.folder, env=environment(), check=True, capture_output=True)
    page = report.read_text(encoding="utf-8")
    for word in ("matched_accuracy.png", "confidence.png", "reliability", "summary.md"):
        assert word in page
    assert '"format": "png"' in page  # tells figures from tables of the same labels


def test_the_studys_own_report_tells_results_and_where_they_come_from(built):
    page = (built.folder / "results/digits/report.html").read_text(encoding="utf-8")
    summary = (built.folder / "results/digits/summary.md").read_text(encoding="utf-8")
    matched_gaps = re.findall(r"matched gap is (\S+ \[[^]]+\])", summary)
    assert len(matched_gaps) == 2
    for gap in matched_gaps:
        assert f"Matched gap {gap}" in page
    weights = built.folder / "results/predictions/digits-known/cnn.v1.parquet"
    assert pq.read_schema(weights).metadata[b"weights_sha256"].decode() in page
    for heading in ("Gaps before and after matching", "Replication", "Left out", "Provenance"):
        assert heading in page
    assert page.count("<img src=") == 9
    assert "snakemake." not in page  # wildcards of captions are filled in


@pytest.mark.parametrize("name", ["digits-known", "digits-new-writers"])
def test_prediction_files_keep_the_contract(built, name):
    sizes = {"digits-known": 600, "digits-new-writers": 497}
    for path in (built.folder / "results/predictions" / name).glob("*.parquet"):
        table = pq.read_table(path)
        assert [str(t) for t in table.schema.types] == ["int32", "int16", "int16", "float"]
        assert table["index"].to_pylist() == list(range(sizes[name]))
        metadata = {k.decode() for k in table.schema.metadata}
        assert {"model", "dataset", "n_classes", "weights_sha256"} <= metadata
