"""Results on file: their versions and settings, and names that mean one thing to all studies."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matcheval.errors import InputError
from matcheval.io.self_digests import read_json
from matcheval.study.stored import (
    check_shared_names,
    mixed_software,
    record_made_with,
    record_shared_names,
)
from preflight import Preflight
from studies import ROOT, configuration, load


def test_predictions_of_several_versions_of_torch(tmp_path):
    """Three models on one set; of the third, there are no predictions."""
    for model, torch in (("a", "2.11"), ("b", "2.15")):
        table = pa.table({"label": [1]}).replace_schema_metadata({"torch": torch, "numpy": "2.4"})
        pq.write_table(table, tmp_path / f"{model}.parquet")
    study = SimpleNamespace(
        predicting=SimpleNamespace(datasets=["old"], models=list("abc")),
        predictions_file=lambda dataset, model: f"{tmp_path}/{model}.parquet",
        results=str(tmp_path), name="mine",
    )  # fmt: skip
    warning = mixed_software(study)
    assert "torch 2.11 (1) and 2.15 (1)." in warning
    assert "numpy" not in warning
    (tmp_path / "a.parquet").unlink()
    assert mixed_software(study) == ""


@pytest.mark.parametrize(("has_report", "kept"), [(False, [0.01]), (True, [0.005, 0.01])])
def test_only_a_whole_run_forgets_earlier_settings(tmp_path, monkeypatch, has_report, kept):
    """A run ends with the report, if the study has one; here, it was not written."""
    monkeypatch.chdir(tmp_path)
    for epsilon in (0.005, 0.01):
        given = configuration("digits") | {"results": "results", "matching": {"epsilon": epsilon}}
        study = load(given)
        record_made_with(study, given)
    Preflight(None, study, given).on_success(began=0.0, has_report=has_report)
    settings = read_json(f"{study.folder}/.made_with.json")["settings"]
    assert [run["matching"]["epsilon"] for run in settings] == kept


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Make a study with `results` in the test's folder, and changes to the default one."""
    monkeypatch.chdir(tmp_path)
    models = (ROOT / "studies" / "digits-models.csv").read_text(encoding="utf-8")

    def make(name, *, catalogue=lambda text: text, **changes):
        Path(f"{name}.csv").write_text(catalogue(models), encoding="utf-8")
        own = {"study": name, "models": f"{name}.csv"}
        return load(configuration("digits") | own | changes)

    return make


DIGITS = configuration("digits")
OTHER_PART = {"digits-known": {"kind": "digits", "part": "train"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": DIGITS["datasets"] | OTHER_PART},
         "dataset 'digits-known' differs from that of study 'one', .* part is \"train\" here and "
         '"known" there'),
        ({"catalogue": lambda text: text.replace("none,cosine,30,", "none,cosine,31,", 1)},
         r"model 'linear-ce' differs from that of study 'one', .* recipe.epochs is 31 here and 30"),
        ({"inference": {**DIGITS["inference"], "precision": "bf16"}},
         "model '.*' differs from that of study 'one', .* inference.precision is \"bf16\" here"),
    ],
)  # fmt: skip
def test_another_meaning_is_refused(study, changes, message):
    record_shared_names(study("one"))
    check_shared_names(study("two"))
    check_shared_names(study("one", **changes))
    with pytest.raises(InputError, match=message) as caught:
        check_shared_names(study("two", **changes))
    assert "delete results/studies/one.json" in str(caught.value)
    Path("results/studies/one.json").unlink()
    check_shared_names(study("two", **changes))


def test_files_of_users_count_wherever_they_are(tmp_path, monkeypatch):
    """Also in the results folder; what studies make does not."""
    monkeypatch.chdir(tmp_path)
    files = [f"results/predictions/x/{name}-m.csv" for name in ("old", "new")]
    Path("results/predictions/x").mkdir(parents=True)
    for file in [*files, "results/predictions/x/made.parquet"]:
        Path(file).write_text("label,prediction,probability\n0,0,0.5\n")
    Path("m.csv").write_text("name,kind\nm,predictions\n")
    kind = {"kind": "predictions"}
    study = load({
        "study": "s", "models": "m.csv", "pairs": {"p": {"original": "old", "replication": "new"}},
        "datasets": {n: kind | {"files": f"results/predictions/x/{n}-{{model}}.csv"}
                     for n in ("old", "new")},
    })  # fmt: skip
    assert len(study.custom_files_state([*files, "results/predictions/x/made.parquet"])) == 2
