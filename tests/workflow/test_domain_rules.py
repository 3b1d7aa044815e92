"""Domain generalisation in the real workflow: a tiny study, from digits to tables and figures."""

import pytest
from engine import Workflow

pytestmark = pytest.mark.slow

CONFIG = """
study: tiny
datasets:
  a: {kind: digits, part: train, rows: [0, 120]}
  scans: {kind: digits, part: train, rows: [200, 320]}
  b: {kind: restyled, of: scans, style: inverted}
  c: {kind: digits, part: known, rows: [0, 100]}
  new-0: {kind: digits, part: new-writers, rows: [0, 60]}
  new-1: {kind: digits, part: new-writers, rows: [60, 150]}
  new-2: {kind: digits, part: new-writers, rows: [150, 300]}
  new-3: {kind: restyled, of: new-0, style: inverted}
suites:
  domains: {members: [a, b, c]}
  far:
    members:
      - {dataset: new-0, group: first}
      - {dataset: new-1, group: second}
      - {dataset: new-2, group: second}
      - new-3
training: {device: cpu}
inference: {outputs: [statistics]}
domain_generalization:
  blocks:
    one: {sources: [a], targets: far}
    two: {sources: [a, b], targets: far}
  leave_one_out: {left-out: domains}
  algorithms: [coral]
  groups: 2
  seeds: 2
  validation_parts: 4
  steps: 60
  evaluate_every: 30
  recipe: {architecture: mlp, width: 32, depth: 1, batch_size: 16, learning_rate: 0.01}
  selection: [source_validation, leave_one_domain_out]
  figure_algorithm: coral
  scores: {algorithms: [erm]}
figures: {formats: [png]}
"""
MADE = "tiny/domain_generalization"


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """The study, run whole. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("domains") / "tree", CONFIG)
    workflow.run()
    return workflow


def test_the_study_has_its_trainings_tables_and_figures(workflow):
    results = workflow.results
    # Three pairs of sources, with ERM and two groups of CORAL; three single sources, on which
    # CORAL is ERM (a as a block; b and c for the selection alone); two seeds.
    assert len(list((results / "checkpoints").glob("*.safetensors"))) == (3 * 3 + 3) * 2
    table = workflow.table(f"{MADE}/results")
    assert set(table.block) == {"one", "two", "a", "b", "c", "average"}
    assert {"default", "source_validation", "leave_one_domain_out"} < set(table.selection)
    one = table[(table.block == "one") & (table.algorithm == "coral")]
    assert one.same_as_erm.all()
    assert (one.gain == 0).all()
    assert set(workflow.table(f"{MADE}/runs").best_step) <= {30, 60}
    # Inverted scans by new writers: below chance after training on plain ones alone, and far above
    # where inverted scans by others are a second source.
    gains = workflow.table(f"{MADE}/gains")
    erm = gains[gains.dataset == "new-3"].groupby("block").accuracy_erm.mean()
    assert erm["one"] < 0.2 < erm["two"] - 0.2
    assert {path.stem for path in results.glob("tiny/figures/domain_generalization/*.png")} == {
        "gain_by_set", "gain_by_algorithm", "by_sources", "learning_curves", "scores",
    }  # fmt: skip


def test_accuracies_of_the_models_are_predicted_from_their_scores(workflow):
    """The base is the validation parts of the sources, the reference their training parts."""
    scores = workflow.table(f"{MADE}/scores/far/tiny.a.and.b.erm-0.seed-1")
    assert set(scores.base) == {"a.part-1-of-4.seed-1+b.part-1-of-4.seed-1"}
    assert set(scores.n_base) == {60}
    assert scores.score.notna().all()
    table = workflow.table(f"{MADE}/predictability")
    assert set(table.block) == {"one", "two"}
    assert set(table.method) == {"nuclear_norm", "frechet_reference"}
    distances = workflow.table(f"{MADE}/near_far")
    assert set(distances.n_sets) == {4}


def test_another_algorithm_trains_no_more_than_it_must(copy):
    assert copy.plan().jobs == {}
    copy.edit("small.yaml", "algorithms: [coral]", "algorithms: [coral, vne]")
    plan = copy.plan().jobs
    assert plan.get("train_models_1") == 1, plan  # which keeps what is trained
    assert "derive_dataset" not in plan
