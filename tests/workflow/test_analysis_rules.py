"""Further analyses in the real workflow: on published labels, and a search on digits."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from engine import Workflow

from matcheval.errors import InputError
from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study

MODELS = ("alex", "dense", "res")
N = 60
CONFIG = """
study: after
models: models.csv
datasets:
  old: {kind: labels, files: "old/{model}.json", labels: labels.npy}
  new: {kind: labels, files: "new/{model}.json", labels: labels.npy}
  train: {kind: digits, part: train}
  validation: {kind: digits, part: validation}
pairs: {both: {original: old, replication: new}}
replication: {resamples: 100, scales: [probit]}
figures: {formats: [png]}
near_duplicates:
  searches: [{of: validation, among: train}]
  sheet: 3
  reviewed: {old: reviewed.csv}
  without: [dense]
hard_images: {datasets: [old], sheet: 3, without: [dense]}
human_accuracy: {pairs: {both: people.csv}, without: [dense]}
class_balanced: {datasets: [new], without: [dense]}
selection_frequency: {datasets: {old: counts.csv}, without: [dense]}
groups: {datasets: {new: groups.csv}, without: [dense]}
shared_errors: {datasets: [old], without: [dense]}
revisions: {series: {sets: [old, new]}, without: [dense]}
difficulty: {pairs: [both], sigma: 3, without: [dense]}
"""
# Those of them that are not of every study.
ANALYSIS_TARGETS = (
    "near_duplicates", "hard_images", "human_accuracy", "class_balanced", "selection_frequency",
    "groups", "shared_errors", "revisions", "difficulty",
)  # fmt: skip


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """All analyses but retraining and sampling, run once. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("after") / "tree", small=False)
    folder, rng = workflow.folder, np.random.default_rng(0)
    labels = np.arange(N) % 3
    np.save(folder / "labels.npy", labels)
    for name in ("old", "new"):
        (folder / name).mkdir()
        for model in MODELS:
            wrong = rng.random(N) < 0.3
            classes = np.where(wrong, (labels + 1) % 3, labels)
            (folder / name / f"{model}.json").write_text(json.dumps(classes.tolist()))
    (folder / "models.csv").write_text(
        "name,kind\n" + "".join(f"{m},predictions\n" for m in MODELS)
    )
    (folder / "reviewed.csv").write_text("index\n3\n4\n5\n")
    (folder / "people.csv").write_text("participant,set,index,answer\nann,original,3,0\n")
    (folder / "counts.csv").write_text(
        "index,n_annotations,n_selected\n" + "".join(f"{i},10,{i % 11}\n" for i in range(N))
    )
    (folder / "after.yaml").write_text(CONFIG)
    (folder / "groups.csv").write_text("index,group\n0,a\n1,b\n2,a\n")
    workflow.run(*ANALYSIS_TARGETS, "--configfile", "after.yaml")
    return workflow


def files_below(folder, *names):
    """Paths, relative to a folder, of all files in folders of these names in it."""
    return {
        str(path.relative_to(folder))
        for name in names
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


def test_every_analysis_has_its_files(after):
    own = after.folder / "results" / "after"
    tables = {
        f"{stem}.{suffix}"
        for stem in (
            "near_duplicates/old", "hard_images/old", "human_accuracy/both", "class_balanced/new",
            "selection_frequency/old", "groups/new", "shared_errors/old", "revisions/sets",
            "difficulty/both-top1",
        )
        for suffix in ("parquet", "csv", "md", "tex")
    }  # fmt: skip
    search = "near_duplicates/validation-in-train"
    assert files_below(own, *ANALYSIS_TARGETS) == tables | {
        f"{search}.parquet", "difficulty/both-top1.skills.parquet",
    }  # fmt: skip
    assert files_below(own / "figures", *ANALYSIS_TARGETS) == {
        f"{search}.png", "selection_frequency/old.png", "shared_errors/old.png",
        "difficulty/both-top1.png",
    }  # fmt: skip
    duplicates = pd.read_csv(own / "near_duplicates" / "old.csv")
    assert duplicates.n_duplicates.tolist() == [3, 3]  # not of dense
    assert len(pd.read_parquet(own / f"{search}.parquet")) == 100 * 10
    skills = pd.read_parquet(own / "difficulty" / "both-top1.skills.parquet")
    assert skills.model.tolist() == ["alex", "res"]
    assert pd.read_csv(own / "difficulty" / "both-top1.csv").n_models.tolist() == [2]
    people = pd.read_csv(own / "human_accuracy" / "both.csv")
    assert people.accuracy_original.tolist() == [1.0]
    assert "n = 12 (%)" in (own / "selection_frequency" / "old.md").read_text()


def test_what_was_reviewed_again_is_tabulated_again(after, tmp_path):
    workflow = after.copy_to(tmp_path / "tree")
    (workflow.folder / "reviewed.csv").write_text("index\n3\n")
    plan = workflow.plan(*ANALYSIS_TARGETS, "--configfile", "after.yaml").jobs
    assert plan == {"tabulate_near_duplicates": 1, "near_duplicates": 1}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("hard_images/new", "Did you mean 'hard_images/old'"),
        ("human_accuracy/other", "table 'human_accuracy/other'"),
        ("replication/both/top5", "table 'replication/both/top5'"),
        *(
            (table, "")
            for table in (
                "hard_images/old", "difficulty/both-top1.skills",
                "near_duplicates/validation-in-train", "revisions/sets",
                "replication/both/top1.fits", "replication/changes", "accuracies/old",
            )
        ),
    ],
)  # fmt: skip
def test_published_values_are_of_tables_that_are_made(after, tmp_path, monkeypatch, table, told):
    (tmp_path / "p.csv").write_text(
        "study,source,name,quantity,published,table,rows,column,statistic,remark\n"
        f"after,Text,all,Rows,1,{table},,,count,\n"
    )
    given = yaml.safe_load((after.folder / "after.yaml").read_text())
    given["published_values"] = {"file": str(tmp_path / "p.csv")}
    monkeypatch.chdir(after.folder)
    loading = {"default_study": after.folder / "config.yaml", "analyses": ANALYSES}
    if not told:
        tables = load_study(given, **loading).analyses["published_values"].tables
        assert tables == [f"results/after/{table}.parquet"]
        return
    with pytest.raises(InputError, match="line 2: 'table': the study does not write .*" + told):
        load_study(given, **loading)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hard_images: {datasets: [old]",
            "hard_images: {datasets: [older]",
            "unknown dataset 'older'",
        ),
        (
            "hard_images: {datasets: [old]",
            "hard_images: {datasets: [train]",
            "'train' is in no pair",
        ),
        ("of: validation", "of: old", "'old' has predictions only, no images"),
        ("reviewed.csv", "nothing.csv", "no such file: nothing.csv"),
        ("old: counts.csv", 'old: ""', "'old' is not sampled"),
        ("both: people.csv", "all: people.csv", "unknown pair 'all'"),
        (
            "both: people.csv",
            'both: ""',
            "human_accuracy.pairs.both.*: is empty",
        ),
        (
            "new: groups.csv",
            'new: ""',
            "groups.datasets.new.*: is empty",
        ),
        (
            "old: reviewed.csv",
            'old: ""',
            "near_duplicates.reviewed.old.*: is empty",
        ),
        ("resamples: 100", "fit_range: [0.9, 0.5]", r"0\.9 is not below 0\.5"),
        ("resamples: 100", "fit_range: [0.5, 0.5]", r"0\.5 is not below 0\.5"),
    ],
)
def test_what_cannot_be_made_is_said_before_any_job(after, monkeypatch, old, new, message):
    text = (after.folder / "after.yaml").read_text()
    assert old in text
    monkeypatch.chdir(after.folder)
    with pytest.raises(InputError, match=message):
        load_study(
            yaml.safe_load(text.replace(old, new)),
            default_study=after.folder / "config.yaml",
            analyses=ANALYSES,
        )
