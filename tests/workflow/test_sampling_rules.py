"""Sampling in the real workflow: from a pool and annotations to sets that models are run on."""

import numpy as np
import pytest
from engine import Workflow

from matcheval.datasets.prepare import build_dataset
from matcheval.predictions.softmax import read_top_k

pytestmark = pytest.mark.slow

CONFIG = """
study: made
models: studies/small.csv
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
def workflow(tmp_path_factory):
    """Two sets, sampled from one pool, and a model run on them; checked. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("sampling") / "tree", CONFIG)
    workflow.keep_models("studies/small.csv", ["linear"])
    write_annotations(workflow.folder / "annotations.csv")
    workflow.run("check", LATER)
    return workflow


def test_sets_are_sampled_and_models_run_on_them(workflow):
    best, later = (workflow.table(f"sampling/{name}/provenance") for name in ("best", "later"))
    assert (best["class"].value_counts() == 20).all()
    assert best.n_annotations.unique().tolist() == [10]
    # Images kept of the earlier version.
    kept = later[later["round"] == 0]
    assert set(kept.image) <= set(best.image)
    assert (later.frequency >= 0.5).all()
    labels = workflow.table("predictions/best/linear").label
    assert labels.astype(str).tolist() == best["class"].tolist()


def test_top_k_accuracies_are_counted(workflow):
    """Top-3 accuracies of a model that was run here, by its top-k files."""
    accuracies = workflow.table("made/accuracies/best").set_index("top")
    labels, classes = read_top_k(workflow.results / "predictions/best/linear.top.parquet")
    for top in (1, 3, 5):
        hits = (classes[:, :top] == labels[:, None]).any(axis=1).sum()
        assert accuracies.n_correct[top] == hits
    changes = workflow.table("made/replication/changes").set_index(["pair", "top"])
    # The mean selection frequency of the paper's Table 2, of a set that was sampled here.
    provenance = workflow.table("sampling/best/provenance")
    assert changes.selection_frequency["best", 1] == provenance.frequency.mean() > 0.5


def test_new_annotations_make_new_sets(copy):
    assert copy.plan(LATER).jobs == {}
    write_annotations(copy.folder / "annotations.csv", n_workers=11)
    assert copy.plan(LATER).jobs == {"count_selections": 1, "sample_dataset": 2}
    simulated = {"simulate_annotations": 1, "count_selections": 1, "sample_dataset": 1}
    assert copy.plan(MATCHED).jobs == simulated
