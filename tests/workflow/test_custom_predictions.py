"""Predictions, labels and accuracies of the user's own in the real workflow, with all analyses."""

import json
import os
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from engine import Workflow, known

from matcheval.predictions.records import check_predictions, write_predictions
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.registry import ANALYSES

pytestmark = pytest.mark.slow

MODELS = ("alex", "dense", "res", "vgg")
N = 120
OF_PAIRS = [one for one in ANALYSES if issubclass(one, PairTableAnalysis)]
FEW = {  # what makes an analysis quick, and what it cannot do without
    "label_audits": "pairs: [both], labels: {own: audited.csv}"
}
CONFIG = """\
study: mixed
models: studies/small.csv
datasets:
  own: {kind: predictions, files: "own/{model}.csv"}
  again:
    kind: predictions
    files: "own/{model}.tsv.gz"
    aliases: {alex: my-alex, dense: my-dense, res: my-res, vgg: my-vgg}
    columns: {label: y, prediction: pred, probability: p}
    classes: [w, x, y, z]
    first_label: 1
  new: {kind: predictions, files: "new/{model}.parquet"}
  labels: {kind: labels, files: "labels/{model}.json", labels: labels.npy, classes: 4}
  archive: {kind: label_archive, file: all.npz, predictions: p, labels: y}
  accuracies: {kind: accuracies, file: accuracies.csv, columns: {model: name, top1: acc}, n: 50}
  train: {kind: digits, part: train}
  validation: {kind: digits, part: validation}
pairs:
  matchable: {original: own, replication: again}
  mixed: {original: own, replication: labels}
  published: {original: archive, replication: accuracies}
  both: {original: own, replication: new, paired: true}
suites: {shift: {members: [{dataset: new, severity: 1}]}}
severity: {suites: {shift: own}}
accuracy_prediction: {suites: {shift: {base: own}}, methods: [ac, doc_feat]}
matching: {seeds: 2}
replication: {resamples: 500}
figures: {formats: [png]}
near_duplicates:
  searches: [{of: validation, among: train}]
  sheet: 3
  reviewed: {own: reviewed.csv}
  without: [dense]
hard_images: {datasets: [own], sheet: 3, without: [dense]}
human_accuracy: {pairs: {both: people.csv}, without: [dense]}
class_balanced: {datasets: [new], without: [dense]}
selection_frequency: {datasets: {own: counts.csv}, without: [dense]}
groups: {datasets: {new: groups.csv}, without: [dense]}
shared_errors: {datasets: [own], without: [dense]}
revisions: {series: {sets: [own, new]}, without: [dense]}
difficulty: {pairs: [both], sigma: 3, without: [dense]}
few_labels: {pairs: [both], repetitions: 3, without: [dense]}
""" + "".join(f"{one.name}: {{{FEW.get(one.name, 'pairs: [both]')}}}\n" for one in OF_PAIRS)
TABLES = {
    "near_duplicates": "own", "hard_images": "own", "human_accuracy": "both",
    "class_balanced": "new", "selection_frequency": "own", "groups": "new",
    "shared_errors": "own", "revisions": "sets", "difficulty": "both-top1",
    "few_labels": "both",
    **{one.name: "both" for one in OF_PAIRS},
}  # fmt: skip
SEARCH = "near_duplicates/validation-in-train"


def write_files(folder):
    """The files of the study, which are the same predictions in several forms."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, N)
    for name in ("own", "labels"):
        (folder / name).mkdir()
    classes = []
    for i, model in enumerate(MODELS):
        first = np.where(rng.random(N) < 0.1 + 0.1 * i, (labels + 1) % 4, labels)
        classes.append((first[:, None] + np.arange(3)) % 4)
        (folder / "labels" / f"{model}.json").write_text(json.dumps(first.tolist()))
        own = {"label": labels, "prediction": first, "probability": rng.uniform(0.5, 1, N)}
        pd.DataFrame(own).to_csv(folder / "own" / f"{model}.csv", index=False)
        again = {"y": np.array(list("wxyz"))[labels], "pred": first + 1, "p": own["probability"]}
        pd.DataFrame(again).to_csv(folder / "own" / f"my-{model}.tsv.gz", sep="\t", index=False)
        own["prediction"] = np.where(rng.random(N) < 0.3, (labels + 2) % 4, first)
        write_predictions(check_predictions(own), folder / "new" / f"{model}.parquet")
    np.save(folder / "labels.npy", labels)
    np.savez(folder / "all.npz", models=list(MODELS), p=np.stack(classes), y=labels)
    rows = "".join(f"{model},{80 - 10 * i}\n" for i, model in enumerate(MODELS))
    counts = "".join(f"{i},10,{i % 11}\n" for i in range(N))
    for name, text in {
        "accuracies": "name,acc\n" + rows,
        "reviewed": "index\n3\n4\n5\n",
        "people": f"participant,set,index,answer\nann,original,3,{labels[3]}\n",
        "counts": "index,n_annotations,n_selected\n" + counts,
        "audited": "index,label\n0,\n1,3\n",
        "groups": "index,group\n0,a\n1,b\n2,a\n",
    }.items():
        (folder / f"{name}.csv").write_text(text)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """Four models on sets of all kinds, run whole. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("mixed") / "tree", CONFIG, known(*MODELS))
    write_files(workflow.folder)
    workflow.run()
    return workflow


def test_every_pair_has_tables_fits_and_figures(workflow):
    suffixes = ("csv", "md", "parquet", "tex")
    tables = {f"top1{part}.{suffix}" for part in ("", ".fits") for suffix in suffixes}
    for pair in ("matchable", "mixed", "published"):
        found = set(workflow.artifacts(f"mixed/replication/{pair}"))
        assert found == tables | {"top1.region.parquet"}
        figures = workflow.artifacts(f"mixed/figures/{pair}/replication")
        assert set(figures) == {"top1-linear.png", "top1-probit.png"}
    published = workflow.table("mixed/replication/published/top1")
    assert published.n_correct_replication.tolist() == [40, 35, 30, 25]
    # The same classes, by two roads; the same predictions, with names and columns of their own.
    for pair in ("mixed", "matchable"):
        assert (workflow.table(f"mixed/replication/{pair}/top1").gap == 0).all()


def test_every_analysis_has_its_files(workflow):
    own = workflow.artifacts("mixed")
    stems = {f"{name}/{stem}" for name, stem in TABLES.items()}
    tables = {f"{stem}.{suffix}" for stem in stems for suffix in ("parquet", "csv", "md", "tex")}
    more = {f"{SEARCH}.parquet", "difficulty/both-top1.skills.parquet"}
    assert {name for name in own if name.split("/")[0] in TABLES} == tables | more
    plotted = {"selection_frequency", "shared_errors", "difficulty", "few_labels"}
    plotted |= {one.name for one in OF_PAIRS if one.has_figure}
    figures = {f"{name}/{TABLES[name]}.png" for name in plotted} | {f"{SEARCH}.png"}
    drawn = {name.removeprefix("figures/") for name in own if name.startswith("figures/")}
    assert {name for name in drawn if name.split("/")[0] in TABLES} == figures
    assert workflow.table("mixed/near_duplicates/own").n_duplicates.tolist() == [3] * 3
    assert len(workflow.table(f"mixed/{SEARCH}")) == 100 * 10
    skills = workflow.table("mixed/difficulty/both-top1.skills")
    assert skills.model.tolist() == ["alex", "res", "vgg"]  # without dense
    assert workflow.table("mixed/human_accuracy/both").accuracy_original.tolist() == [1.0]


def test_only_pairs_with_probabilities_are_matched(workflow):
    own = workflow.results / "mixed"
    assert {path.name for path in (own / "matched").iterdir()} == {"both", "matchable"}
    assert (workflow.table("mixed/tables/matchable/label_probability").gap == 0).all()
    output = workflow.run("results/mixed/matched/published/probability/000.parquet", fails=True)
    assert "pair 'published' cannot be matched: one of its sets has no probabilities" in output


def test_the_results_pass_their_checks(workflow):
    workflow.run("check")
    log = (workflow.results / "mixed/logs/check.log").read_text()
    assert " passed" in log
    assert "skipped" not in log


def test_the_level_is_that_of_all_intervals(workflow, copy):
    same = copy.plan("--config", "confidence=0.95").jobs
    assert same == {"write_report": 1, "all": 1}  # which shows the settings that were given
    options = ["--config", "confidence=0.9", "figures={formats: [svg]}"]
    assert "match_predictions" not in copy.plan(*options).jobs
    copy.run(*options)
    own, narrower = copy.results / "mixed", set()
    for path in own.rglob("*.parquet"):
        before = pd.read_parquet(workflow.results / path.relative_to(copy.results))
        after = pd.read_parquet(path)
        for low in [name for name in after if name.endswith("_low")]:
            ends = low, low.replace("_low", "_high")
            wide, narrow = (table[ends[1]] - table[ends[0]] for table in (before, after))
            assert not (narrow > wide).any(), (path, low)
            if (narrow < wide)[wide > 1e-9].all() and (wide > 1e-9).any():
                narrower.add((path.relative_to(own).parts[0], low.removesuffix("_low")))
    assert narrower >= {
        *product(["gaps"], ["gap", "matched_gap", "conditional_part"]), ("paired_gaps", "gap"),
        *product(["class_gaps", "severity"], ["matched_gap", "conditional"]), ("severity", "gap"),
        *product(["epsilon_sweep", "score_comparison"], ["matched_gap"]), ("replication", "gap"),
    }  # fmt: skip
    texts = [
        path.read_text(encoding="utf-8")
        for suffix in (".md", ".tex", ".svg", ".html")
        for path in own.rglob(f"*{suffix}")
    ]
    assert not any(re.search(r"95 \\?%|±1\.96", text) for text in texts)


def test_a_replaced_file_repeats_what_is_made_from_it(copy):
    def replace_by_older(name, content):
        (copy.folder / name).write_bytes(content)
        os.utime(copy.folder / name, (1, 1))  # than what was made of it

    assert copy.plan().jobs == {}
    replace_by_older("labels/vgg.json", json.dumps([0] * N).encode())
    counted = {
        "count_correct": 1, "tabulate_replication": 1, "fit_replication": 1,
        "plot_replication": 1, "summarize_replication": 1, "write_report": 1, "all": 1,
    }  # fmt: skip
    assert copy.plan().jobs == counted
    replace_by_older("audited.csv", b"index,label\n0,\n")
    assert copy.plan().jobs["tabulate_label_audits"] == 1
    replace_by_older("new/alex.parquet", (copy.folder / "new/dense.parquet").read_bytes())
    of_pairs = {f"tabulate_{one.name}" for one in OF_PAIRS}
    assert of_pairs | {"match_predictions"} <= set(copy.plan().jobs)
