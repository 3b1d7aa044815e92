"""Analyses with a table per pair in the real workflow, on prediction files of the user's own."""

import numpy as np
import pandas as pd
import pytest
import yaml
from engine import Workflow

from matcheval.errors import InputError
from matcheval.predictions.records import check_predictions, write_predictions
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study

NAMES = [one.name for one in ANALYSES if issubclass(one, PairTableAnalysis)]
PLOTTED = [
    one.name for one in ANALYSES if issubclass(one, PairTableAnalysis) and one.has_figure
]  # fmt: skip
CONFIG = """\
study: mine
models: mine.csv
datasets:
  old: {kind: predictions, files: "old/{model}.parquet"}
  new: {kind: predictions, files: "new/{model}.parquet"}
pairs: {both: {original: old, replication: new, paired: true}}
matching: {seeds: 2}
figures: {formats: [png]}
"""
# What makes an analysis quick.
FEW = {"permutation_null": {"permutations": 19}}


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """All analyses of pairs, run once. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("pairs") / "w", small=False)
    folder, rng = workflow.folder, np.random.default_rng(0)
    config = yaml.safe_load(CONFIG) | {n: {"pairs": ["both"]} | FEW.get(n, {}) for n in NAMES}
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    (folder / "mine.csv").write_text("name,kind\na,predictions\nb,predictions\n")
    labels = rng.integers(0, 2, 150)
    for name in ("old", "new"):
        for model in "ab":
            p = rng.uniform(0.5, 1, 150)
            prediction = np.where(rng.random(150) < p, labels, 1 - labels)
            columns = {"label": labels, "prediction": prediction, "probability": p}
            write_predictions(check_predictions(columns), folder / name / f"{model}.parquet")
    workflow.run(*NAMES, "--configfile", "mine.yaml")
    return workflow


def test_every_analysis_has_its_files(workflow):
    own = workflow.folder / "results" / "mine"
    for name in NAMES:
        for suffix in ("csv", "md", "tex"):
            assert (own / name / f"both.{suffix}").stat().st_size > 0
        table = pd.read_parquet(own / name / "both.parquet")
        assert set(table["pair"]) == {"both"}
        assert {"a", "b"} <= set(table["model"])
    drawn = {path.parent.name for path in (own / "figures").glob("*/both.png")}
    assert drawn == set(PLOTTED)
    assert workflow.plan(*NAMES, "--configfile", "mine.yaml").jobs == {}


def test_new_predictions_repeat_the_tables(workflow, tmp_path):
    copy = workflow.copy_to(tmp_path / "w")
    files = [copy.folder / "new" / f"{model}.parquet" for model in "ab"]
    files[0].write_bytes(files[1].read_bytes())
    jobs = copy.plan(*NAMES, "--configfile", "mine.yaml").jobs
    assert {rule for rule in jobs if rule.startswith("tabulate_")} == {
        f"tabulate_{name}" for name in NAMES
    }


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"pairs": ["bot"]}, "unknown pair 'bot'. Did you mean 'both'"),
        ({"pairs": ["both"], "without": ["c"]}, "unknown model 'c'"),
        ({"pairs": ["both"], "without": ["a", "b"]}, "all models are left out"),
    ],
)
def test_what_cannot_be_made_is_said_before_any_job(workflow, monkeypatch, block, message):
    monkeypatch.chdir(workflow.folder)
    given = yaml.safe_load((workflow.folder / "mine.yaml").read_text()) | {"mcnemar": block}
    with pytest.raises(InputError, match=message):
        load_study(given, default_study=workflow.folder / "config.yaml", analyses=ANALYSES)
