"""A configuration that cannot work is refused with one clear error before any job starts."""

import yaml
from engine import Workflow, own_study


def test_refused(tmp_path):
    workflow = Workflow.fresh(tmp_path / "tree", small=False)
    result = workflow.run("--config", "matching={epsilom: 0.1}", "fomats=[pdf]", check=False)
    output = result.stdout + result.stderr
    assert result.returncode == 1
    assert "unknown key 'epsilom'. Did you mean 'epsilon'?" in output
    assert "unknown key 'fomats'" in output
    assert output.count("rror") <= 2  # `WorkflowError in file ...` and nothing else
    assert "Traceback" not in output
    assert not (workflow.folder / "results").exists()


def test_a_name_means_one_thing_in_a_results_folder(small):
    """Else two studies would make their files over each other's, at every run."""
    config = small.folder / "small.yaml"
    mine = config.read_text()
    whole = yaml.safe_load((small.folder / "config.yaml").read_text()) | yaml.safe_load(mine)
    config.write_text(yaml.safe_dump(whole | {"study": "other"}))
    assert "train_model" not in small.plan().jobs
    other = "inference={precision: bf16}"
    refused = small.run("--dry-run", "--config", other, check=False)
    assert refused.returncode == 1
    message = "model 'cnn.v1' differs from that of study 'digits', which has run with"
    assert message in refused.stdout + refused.stderr
    config.write_text(mine)
    assert small.plan("--config", other).jobs["predict_datasets"] == 3  # a study may change


def test_bad_predictions_of_ones_own(tmp_path):
    workflow = own_study(tmp_path / "tree")
    (workflow.folder / "new" / "b.csv").unlink()
    result = workflow.run("--configfile", "mine.yaml", check=False)
    assert "no predictions of model 'b' at new/b.csv" in result.stdout + result.stderr
    (workflow.folder / "new" / "b.csv").write_text("label,prediction,probability\n0,0,1.5\n")
    result = workflow.run("--configfile", "mine.yaml", "--show-failed-logs", check=False)
    assert "new/b.csv: 'probability': row 0: 1.5 is outside [0, 1]" in result.stdout + result.stderr


def test_all_bad_prediction_files_are_named(tmp_path):
    workflow = own_study(tmp_path / "tree")
    for model in "ab":
        (workflow.folder / "new" / f"{model}.csv").write_text("label,prediction,probability\n")
    result = workflow.run("--configfile", "mine.yaml", check=False)
    for model in "ab":
        assert f"new/{model}.csv: no datapoints" in result.stdout + result.stderr


def test_models_of_other_datapoints_are_refused(tmp_path):
    workflow = own_study(tmp_path / "tree")
    path = workflow.folder / "new" / "b.csv"
    path.write_text(path.read_text() + "0,0,0.9\n")
    result = workflow.run("--configfile", "mine.yaml", check=False)
    message = "model 'b' has other indices or labels on 'new' than model 'a'"
    assert message in result.stdout + result.stderr
