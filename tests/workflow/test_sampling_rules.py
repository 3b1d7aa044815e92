"""Sampling in the real workflow: from a pool and annotations to sets that models are run on."""

import numpy as np
import pandas as pd
import pytest
import yaml
from engine import SMALL_CATALOGUE, Workflow

from matcheval.analyses.sampling.schemas import PROVENANCE
from matcheval.datasets.build import build_dataset
from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.predictions.top_k import read_top_k
from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study

CONFIG = """
study: made
models: models.csv
datasets:
  train: {kind: digits, part: train}
  validation: {kind: digits, part: validation}
  known: {kind: digits, part: known}
  writers: {kind: digits, part: new-writers}
  best: {kind: sampled, pool: own, strategy: top_images, per_class: 20, max_distance: 6}
  later:
    {kind: sampled, pool: own, strategy: threshold, threshold: 0.5, per_class: 20, start_from: best}
  matched:
    {kind: sampled, pool: made-up, strategy: matched_frequency, per_class: 10, fill_upward: true}
sampling:
  pools:
    own: {candidates: writers, original: known, against: [train], annotations: annotations.csv}
    made-up: {candidates: writers, original: known, simulate: {seed: 3}}
training: {train: train, validation: validation}
pairs:
  best: {original: known, replication: best}
matching: {criteria: [probability], seeds: 1, reliability_models: []}
inference: {outputs: [top]}
figures: {formats: [png]}
replication: {top: [1, 3], scales: []}
"""
LATER, MATCHED = (f"results/sampling/{name}/provenance.parquet" for name in ("later", "matched"))


def write_annotations(path, n_workers=10):
    """Annotations of all candidates: the later an image, the more workers select it."""
    pool = build_dataset("writers", "digits", {"part": "new-writers"})
    rng = np.random.default_rng(0)
    rows = [
        f"w{w},{name},{label},{int(rng.random() < (i + 200) / 700)}\n"
        for i, (name, label) in enumerate(zip(pool.names, pool.labels, strict=True))
        for w in range(n_workers)
    ]
    path.write_text("worker,image,class,selected\n" + "".join(rows))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two sets, sampled from one pool, and a model run on them; checked. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("sampling") / "tree", small=False)
    rows = SMALL_CATALOGUE.splitlines(keepends=True)
    (workflow.folder / "models.csv").write_text("".join(rows[:2]))
    (workflow.folder / "made.yaml").write_text(CONFIG)
    write_annotations(workflow.folder / "annotations.csv")
    workflow.run("check", LATER, "--configfile", "made.yaml")
    return workflow


def test_sets_are_sampled_and_models_run_on_them(made):
    results = made.folder / "results"
    best, later = (
        pd.read_parquet(results / "sampling" / name / "provenance.parquet")
        for name in ("best", "later")
    )
    assert (best["class"].value_counts() == 20).all()
    assert best.n_annotations.unique().tolist() == [10]
    # Images kept of the earlier version.
    kept = later[later["round"] == 0]
    assert set(kept.image) <= set(best.image)
    assert (later.frequency >= 0.5).all()
    predictions = pd.read_parquet(results / "predictions" / "best" / "linear.parquet")
    assert predictions.label.astype(str).tolist() == best["class"].tolist()


def test_top_k_accuracies_are_counted(made):
    """Top-3 accuracies of a model that was run here, by its top-k files."""
    own = made.folder / "results" / "made"
    accuracies = pd.read_parquet(own / "accuracies" / "best.parquet").set_index("top")
    labels, classes = read_top_k(made.folder / "results/predictions/best/linear.top.parquet")
    for top in (1, 3, 5):
        hits = (classes[:, :top] == labels[:, None]).any(axis=1).sum()
        assert accuracies.n_correct[top] == hits
    assert accuracies.n_correct[3] > accuracies.n_correct[1]
    changes = pd.read_csv(own / "replication" / "changes.csv").set_index(["pair", "top"])
    assert changes.n_models.to_dict() == {("best", 1): 1, ("best", 3): 1}
    # The mean selection frequency of the paper's Table 2, of a set that was sampled here.
    provenance = pd.read_parquet(made.folder / "results/sampling/best/provenance.parquet")
    assert changes.selection_frequency["best", 1] == provenance.frequency.mean() > 0.5


def test_a_set_that_is_not_as_it_says_is_found(made, tmp_path):
    workflow = made.copy_to(tmp_path / "tree")
    path = workflow.folder / "results/sampling/best/provenance.parquet"
    table = pd.read_parquet(path)
    table.loc[0, "image"] = table.image[1]
    write_table(PROVENANCE.from_frame(table), path)
    result = workflow.run(
        "check", "--configfile", "made.yaml", "--rerun-triggers", "params", check=False
    )
    assert result.returncode
    log = (workflow.folder / "results" / "made" / "logs" / "check.log").read_text()
    assert "test_sampled_sets_hold_what_their_provenance_says" in log


def test_new_annotations_make_new_sets(made, tmp_path):
    workflow = made.copy_to(tmp_path / "tree")
    targets = [LATER, "--configfile", "made.yaml"]
    assert workflow.plan(*targets).jobs == {}
    write_annotations(workflow.folder / "annotations.csv", n_workers=11)
    assert workflow.plan(*targets).jobs == {"count_selections": 1, "sample_dataset": 2}
    simulated = {"simulate_annotations": 1, "count_selections": 1, "sample_dataset": 1}
    assert workflow.plan(MATCHED, "--configfile", "made.yaml").jobs == simulated


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pool: own, strategy: top", "pool: none, strategy: top", "unknown pool 'none'"),
        ("against: [train]", "against: [test]", "unknown dataset 'test'"),
        ("annotations: annotations.csv", "annotations: gone.csv", "no such file: gone.csv"),
        (", annotations: annotations.csv", "", "strategy top_images needs annotations or simulate"),
        ("strategy: threshold", "strategy: best", "'best' is none of matched_frequency"),
        ("start_from: best", "start_from: known", "unknown other sampled set 'known'"),
        ("candidates: writers, original: known, ag", "candidates: best, original: known, ag",
         "'best' is sampled from a pool that it is part of"),
        ("original: known, simulate", "original: writers, simulate", "pool and original at once"),
        ("simulate: {seed: 3}", "simulate: {seed: 3}, annotations: annotations.csv", "at once"),
    ],
)  # fmt: skip
def test_what_cannot_be_sampled_is_said_before_any_job(
    made, tmp_path, monkeypatch, old, new, message
):
    text = (made.folder / "made.yaml").read_text()
    assert old in text
    (tmp_path / "models.csv").symlink_to(made.folder / "models.csv")
    (tmp_path / "annotations.csv").symlink_to(made.folder / "annotations.csv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        load_study(
            yaml.safe_load(text.replace(old, new)),
            default_study=made.folder / "config.yaml",
            analyses=ANALYSES,
        )
