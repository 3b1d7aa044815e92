"""A configuration that cannot work is refused with one clear error before any job starts."""

import yaml
from engine import ROOT, Workflow


def test_refused(tmp_path):
    workflow = Workflow.fresh(tmp_path / "tree", None)
    settings = ("matching={epsilom: 0.1}", "fomats=[pdf]")
    output = workflow.run("--config", *settings, fails=True)
    assert "unknown key 'epsilom'. Did you mean 'epsilon'?" in output
    assert "unknown key 'fomats'" in output
    assert output.count("rror") <= 2  # `WorkflowError in file ...` and nothing else
    assert "Traceback" not in output
    assert not workflow.results.exists()
    (workflow.folder / "set" / "a").mkdir(parents=True)
    (workflow.folder / "set" / "a" / "up").symlink_to("..")
    study = {"datasets": {"own": {"kind": "image_folder", "path": "set", "classes": ["a", "b"]}}}
    study |= {"study": "own", "suites": {"all": {"members": ["own"]}}, "models": "models.csv"}
    (workflow.folder / "models.csv").write_text("name,kind,source\nresnet,timm,resnet18.tv_in1k\n")
    (workflow.folder / "own.yaml").write_text(yaml.safe_dump(study))
    output = workflow.run("--dry-run", "--configfile", "own.yaml", fails=True)
    assert "set/a/up: is a link to" in output
    assert "Traceback" not in output


def test_a_name_means_one_thing_in_a_results_folder(copy):
    """Else two studies would make their files over each other's, at every run."""
    config = copy.folder / "small.yaml"
    small = config.read_text()
    whole = yaml.safe_load((ROOT / "config.yaml").read_text()) | yaml.safe_load(small)
    config.write_text(yaml.safe_dump(whole | {"study": "other"}))
    assert copy.plan().jobs["train_models_1"] == 1  # which links what is trained
    other = "inference={precision: bf16}"
    refused = copy.run("--dry-run", "--config", other, fails=True)
    assert "model 'cnn.v1' differs from that of study 'digits', which has run with" in refused
    config.write_text(small)
    assert copy.plan("--config", other).jobs["predict_models_1"] == 1  # a study may change
