"""A zero-shot classifier beside an ordinary model in the real workflow, and what is rebuilt."""

import open_clip
import pytest
import torch
from engine import Workflow
from safetensors.torch import save_file

from matcheval.predictions.files import read_predictions

pytestmark = pytest.mark.slow

ARCHITECTURE = "ViT-S-32-alt"  # open_clip's smallest that jobs know by name
CONFIG = """\
study: zero-shot
models: studies/small.csv
datasets:
  old: {kind: digits, part: known, rows: [0, 20]}
  new: {kind: digits, part: validation, rows: [0, 20]}
pairs: {both: {original: old, replication: new}}
"""
CATALOGUE = f"""\
name,kind,source,prompts,class_names
clip,open_clip,{ARCHITECTURE}:clip.safetensors,a photo of the number {{}}.,names.yaml
other,random,test_resnet,,
"""


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    workflow = Workflow.fresh(tmp_path_factory.mktemp("zero-shot") / "w", CONFIG, CATALOGUE)
    torch.manual_seed(0)
    state = open_clip.create_model(ARCHITECTURE).state_dict()
    save_file(state, workflow.folder / "clip.safetensors")
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    names = "\n".join(f"{digit}: {word}" for digit, word in enumerate(words))
    (workflow.folder / "names.yaml").write_text(names)
    return workflow


def test_only_the_model_whose_prompt_changes_is_run_again(workflow):
    workflow.run("predictions")
    files = {
        name: workflow.results / "predictions" / "new" / f"{name}.parquet"
        for name in ("clip", "other")
    }
    before = {name: file.read_bytes() for name, file in files.items()}
    found = read_predictions(files["clip"])
    assert found.metadata["model_source"].endswith(
        "clip.safetensors, prompts a photo of the number {}."
    )
    assert found.metadata["transform"].startswith("shorter edge to 224 (bicubic), centre 224")
    assert workflow.plan("predictions").jobs == {}

    workflow.edit("studies/small.csv", "a photo of the number", "the digit")
    assert workflow.plan("predictions").predicted == ["clip"]
    workflow.run("predictions")
    assert files["clip"].read_bytes() != before["clip"]
    assert files["other"].read_bytes() == before["other"]

    workflow.edit("names.yaml", "zero", "nought")
    assert workflow.plan("predictions").predicted == ["clip"]
