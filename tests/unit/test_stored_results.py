"""Warnings of results on file, and digests of code that are kept as long as it does not change."""

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matcheval.io import provenance as code_digests
from matcheval.io.provenance import CodeDigests
from matcheval.io.self_digests import read_json
from matcheval.study.stored import mixed_software, record_made_with
from preflight import Preflight
from studies import configuration, load


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


def test_code_is_parsed_again_only_if_it_has_changed(tmp_path, monkeypatch):
    parsed = []

    def parse(*names: str) -> str:
        parsed.append(names)
        return " ".join(names)

    monkeypatch.setattr(code_digests, "code_digest", parse)
    scripts, file = tmp_path / "scripts", tmp_path / "records" / "digests.json"
    (scripts / "matcheval" / "io").mkdir(parents=True)
    library = scripts / "matcheval" / "io" / "files.py"
    library.write_text("1")
    (scripts / "train.py").write_text("2")

    def digest() -> str:
        digests = CodeDigests(scripts, file)
        found = digests("train", "module")
        digests.save()
        return found

    assert digest() == digest() == "train module"
    assert parsed == [("train", "module")]
    changes = (
        lambda: library.write_text("3"),
        (scripts / "matcheval" / "new.py").touch,
        lambda: file.write_text("{damaged"),
    )
    for times, change in enumerate(changes, 2):
        change()
        assert digest() == "train module"
        assert parsed == [("train", "module")] * times


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
