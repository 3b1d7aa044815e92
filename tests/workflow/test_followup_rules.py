"""Follow-ups in the real workflow: on published labels, and a search on digits."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from engine import Workflow

from matcheval.errors import InputError
from matcheval.study.loading import load_study

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
followups:
  searches: [{of: validation, among: train}]
  sheet: 3
  near_duplicates: {old: reviewed.csv}
  hard_images: [old]
  people: {both: people.csv}
  balanced: [new]
  by_frequency: {old: counts.csv}
  groups: {new: groups.csv}
  shared_errors: [old]
  revisions: {sets: [old, new]}
  without: [dense]
  difficulty: [both]
  difficulty_sigma: 3
"""


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """All follow-ups, made once. Not to be changed."""
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
    workflow.run("followups", "--configfile", "after.yaml")
    return workflow


def test_every_follow_up_has_its_files(after):
    own = after.folder / "results" / "after"
    tables = {
        f"{stem}.{suffix}"
        for stem in (
            "near_duplicates/old", "hard_images/old", "people/both", "balanced/new",
            "by_frequency/old", "groups/new", "shared_errors/old", "revisions/sets",
            "difficulty/both-top1",
        )
        for suffix in ("parquet", "csv", "md", "tex")
    }  # fmt: skip
    search = "near_duplicates/validation-in-train"
    made = own / "followups"
    assert {str(p.relative_to(made)) for p in made.rglob("*") if p.is_file()} == tables | {
        f"{search}.parquet", "difficulty/both-top1.skills.parquet",
    }  # fmt: skip
    figures = own / "figures" / "followups"
    assert {str(p.relative_to(figures)) for p in figures.rglob("*.png")} == {
        f"{search}.png", "by_frequency/old.png", "shared_errors/old.png",
        "difficulty/both-top1.png",
    }  # fmt: skip
    duplicates = pd.read_csv(made / "near_duplicates" / "old.csv")
    assert duplicates.n_duplicates.tolist() == [3, 3]  # not of dense
    assert len(pd.read_parquet(made / f"{search}.parquet")) == 100 * 10
    skills = pd.read_parquet(made / "difficulty" / "both-top1.skills.parquet")
    assert skills.model.tolist() == ["alex", "res"]
    assert pd.read_csv(made / "difficulty" / "both-top1.csv").n_models.tolist() == [2]
    people = pd.read_csv(made / "people" / "both.csv")
    assert people.accuracy_original.tolist() == [1.0]
    assert "n = 12 (%)" in (made / "by_frequency" / "old.md").read_text()


def test_what_was_reviewed_again_is_tabulated_again(after, tmp_path):
    workflow = after.copy_to(tmp_path / "tree")
    (workflow.folder / "reviewed.csv").write_text("index\n3\n")
    plan = workflow.plan("followups", "--configfile", "after.yaml").jobs
    assert plan == {"tabulate_followup": 1, "followups": 1}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("followups/hard_images/new", "Did you mean 'followups/hard_images/old'"),
        ("followups/people/other", "no table 'followups/people/other'"),
        ("replication/both/top5", "no table 'replication/both/top5'"),
        *(
            (table, "")
            for table in (
                "followups/hard_images/old", "followups/difficulty/both-top1.skills",
                "followups/near_duplicates/validation-in-train", "followups/revisions/sets",
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
    given["replication"]["published"] = str(tmp_path / "p.csv")
    monkeypatch.chdir(after.folder)
    files = {
        "defaults_file": after.folder / "config.yaml",
        "schema_file": after.folder / "rules" / "schemas" / "config.schema.json",
    }
    if not told:
        assert load_study(given, **files).published_tables == [table]
        return
    with pytest.raises(InputError, match="line 2: 'table': the study makes .*" + told):
        load_study(given, **files)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hard_images: [old]", "hard_images: [older]", "unknown dataset 'older'"),
        ("hard_images: [old]", "hard_images: [train]", "'train' is in no pair"),
        ("of: validation", "of: old", "'old' has no images to search"),
        ("reviewed.csv", "nothing.csv", "no such file: nothing.csv"),
        ("old: counts.csv", 'old: ""', "'old' was not sampled"),
        ("both: people.csv", "all: people.csv", "unknown pair 'all'"),
        ("both: people.csv", 'both: ""', "people.both.*: '' should be non-empty"),
        ("new: groups.csv", 'new: ""', "groups.new.*: '' should be non-empty"),
        ("old: reviewed.csv", 'old: ""', "near_duplicates.old.*: '' should be non-empty"),
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
            defaults_file=after.folder / "config.yaml",
            schema_file=after.folder / "rules" / "schemas" / "config.schema.json",
        )
