"""Published results in the real workflow: labels, archives and accuracies, with predictions."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from engine import Workflow

MODELS = ("alex", "dense", "res", "vgg")
N = 120


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Four models on sets of all kinds, run whole. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("published") / "tree", small=False)
    folder = workflow.folder
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, N)
    for name in ("own", "labels"):
        (folder / name).mkdir()
    classes = {}
    for i, model in enumerate(MODELS):
        wrong = rng.random(N) < 0.1 + 0.1 * i
        first = np.where(wrong, (labels + 1) % 4, labels)
        classes[model] = (first[:, None] + np.arange(3)) % 4
        (folder / "labels" / f"{model}.json").write_text(json.dumps(first.tolist()))
        frame = {"label": labels, "prediction": first, "probability": rng.uniform(0.5, 1, N)}
        pd.DataFrame(frame).to_csv(folder / "own" / f"{model}.csv", index=False)
        again = {"y": np.array(list("wxyz"))[labels], "pred": first + 1, "p": frame["probability"]}
        pd.DataFrame(again).to_csv(folder / "own" / f"my-{model}.tsv.gz", sep="\t", index=False)
    np.save(folder / "labels.npy", labels)
    np.savez(folder / "all.npz", models=list(MODELS), p=np.stack(list(classes.values())), y=labels)
    rows = "".join(f"{model},{80 - 10 * i}\n" for i, model in enumerate(MODELS))
    (folder / "accuracies.csv").write_text("name,acc\n" + rows)
    (folder / "models.csv").write_text(
        "name,kind\n" + "".join(f"{m},predictions\n" for m in MODELS)
    )
    (folder / "mixed.yaml").write_text("""
study: mixed
models: models.csv
datasets:
  own: {kind: predictions, files: "own/{model}.csv"}
  again:
    kind: predictions
    files: "own/{model}.tsv.gz"
    aliases: {alex: my-alex, dense: my-dense, res: my-res, vgg: my-vgg}
    columns: {label: y, prediction: pred, probability: p}
    classes: [w, x, y, z]
    first_label: 1
  labels: {kind: labels, files: "labels/{model}.json", labels: labels.npy, classes: 4}
  archive: {kind: label_archive, file: all.npz, predictions: p, labels: y}
  accuracies: {kind: accuracies, file: accuracies.csv, columns: {model: name, top1: acc}, n: 50}
pairs:
  matchable: {original: own, replication: again}
  mixed: {original: own, replication: labels}
  published: {original: archive, replication: accuracies}
matching: {seeds: 2}
replication: {resamples: 500}
figures: {formats: [png]}
""")
    workflow.run("--configfile", "mixed.yaml")
    return workflow


def test_every_pair_has_tables_fits_and_figures(published):
    own = published.folder / "results" / "mixed"
    for pair in ("matchable", "mixed", "published"):
        made = {path.name for path in (own / "replication" / pair).iterdir()}
        tables = {
            f"top1{part}.{s}" for part in ("", ".fits") for s in ("csv", "md", "parquet", "tex")
        }
        assert made == tables | {"top1.region.parquet"}
        figures = {path.name for path in (own / "figures" / pair / "replication").iterdir()}
        assert figures == {"top1-linear.png", "top1-probit.png"}
    table = pd.read_csv(own / "replication/published/top1.csv")
    assert table.n_correct_replication.tolist() == [40, 35, 30, 25]
    assert "| published | 1 | 4 |" in (own / "replication/changes.md").read_text()
    mixed = pd.read_csv(own / "replication/mixed/top1.csv")
    assert (mixed.gap == 0).all()  # the same classes, by two roads
    again = pd.read_csv(own / "replication/matchable/top1.csv")
    assert (again.gap == 0).all()  # the same predictions, with names and columns of their own


def test_only_pairs_with_probabilities_are_matched(published):
    own = published.folder / "results" / "mixed"
    assert [path.name for path in (own / "matched").iterdir()] == ["matchable"]
    matched = pd.read_csv(own / "tables/matchable/label_probability.csv")
    assert (matched.gap == 0).all()
    warnings = (own / "summary.md").read_text().split("## Warnings\n\n")[1].splitlines()
    told = "both sets hold the same predictions: is a file compared with itself?"
    assert set(warnings) >= {f"- {model}, {told}" for model in MODELS}
    target = "results/mixed/matched/published/probability/000.parquet"
    result = published.run(target, "--configfile", "mixed.yaml", check=False)
    output = result.stdout + result.stderr
    assert "pair 'published' cannot be matched: one of its sets has no probabilities" in output
    result = published.run(
        "--configfile", "mixed.yaml", "--config", "replication={fit_without: [nope]}", check=False
    )
    assert "'replication.fit_without': unknown model 'nope'" in result.stdout + result.stderr


def test_the_results_pass_their_checks(published):
    published.run("check", "--configfile", "mixed.yaml")
    log = (published.folder / "results" / "mixed" / "logs" / "check.log").read_text()
    assert " passed" in log
    assert "skipped" not in log


def test_a_replaced_file_of_labels_is_counted_again(published, tmp_path):
    workflow = published.copy_to(tmp_path / "tree")
    assert workflow.plan("--configfile", "mixed.yaml").jobs == {}
    path = workflow.folder / "labels" / "vgg.json"
    path.write_text(json.dumps([0] * N))
    os.utime(path, (1, 1))  # older than what was made of it
    plan = workflow.plan("--configfile", "mixed.yaml").jobs
    del plan["all"]
    assert plan == {
        "count_correct": 1, "tabulate_replication": 1, "fit_replication": 1,
        "plot_replication": 2, "summarize_replication": 1, "write_report": 1,
    }  # fmt: skip


def test_labels_alone(published, tmp_path):
    """A study without any probabilities: replication, and nothing else; top 1 and 3."""
    workflow = published.copy_to(tmp_path / "tree")
    (workflow.folder / "alone.yaml").write_text("""
study: alone
models: models.csv
datasets:
  old: &archive {kind: label_archive, file: all.npz, predictions: p, labels: y}
  new: {<<: *archive}
pairs: {both: {original: old, replication: new}}
replication: {resamples: 100, top: [1, 3], scales: [linear]}
figures: {formats: [png]}
""")
    workflow.run("--configfile", "alone.yaml")
    own = workflow.folder / "results" / "alone"
    made = {path.name for path in own.iterdir()}
    assert made == {"accuracies", "benchmarks", "figures", "logs", "replication", "report.html"}
    assert (own / "figures/both/replication/top3-linear.png").exists()
    result = workflow.run(
        "--configfile", "alone.yaml", "--config", "matching={save_pairs: [vgg]}", check=False
    )  # fmt: skip
    assert "'matching.save_pairs': no pair can be matched" in result.stdout + result.stderr
    result = workflow.run(
        "--configfile", "alone.yaml", "--config", "replication={top: [4]}", check=False
    )  # fmt: skip
    assert "no top-4 accuracy of 4 models" in result.stdout + result.stderr
