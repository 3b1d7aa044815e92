"""Jobs that run models on many datasets: what is there is left alone, what fails is named."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import image_sets
from matcheval.datasets.prepare import build_dataset
from matcheval.errors import InputError, StoppedError
from matcheval.inference import running
from matcheval.inference.job import predict_datasets
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles, output_files
from matcheval.io.self_digests import read_json, write_json
from matcheval.models.networks import build_model
from matcheval.models.rows import ModelSource

MODELS, SETS = ("one", "two", "three"), ("a", "b", "c")
OPTIONS = {"architecture": "linear", "width": 0, "depth": 0, "normalization": "none"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Three linear networks with weights of their own, and three sets of digits."""
    root = tmp_path_factory.mktemp("job")
    digits = build_dataset("a", "digits", {"part": "validation"})
    for i, name in enumerate(SETS):
        images, labels = digits.images[i : 60 + i], digits.labels[i : 60 + i]
        image_sets.dataset(images, labels, name, digits.classes, 16, root)
    for i, name in enumerate(MODELS):
        torch.manual_seed(i)
        model = build_model("linear", width=0, depth=0, input_shape=(8, 8, 1), n_classes=10)
        save_file(model.state_dict(), root / f"{name}.safetensors")
    return root


def model(root, name):
    file = root / f"{name}.safetensors"
    return ModelFiles(ModelSource(name, "checkpoint", str(file), OPTIONS), file)


def predict(
    root, out, models=MODELS, sets=SETS, outputs=("logits",), is_to_stop=lambda: False, **config
):
    predict_datasets(
        [model(root, name) for name in models], {name: root / name for name in sets}, out, outputs,
        config=InferenceConfig(**config), is_to_stop=is_to_stop,
    )  # fmt: skip


def contents(out):
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*.*"))}


@pytest.fixture
def runs(monkeypatch):
    """The datasets that are read, and the models that are run on each, in order."""
    seen, run = [], running.ModelRunner.run

    def recorded(self, name, folder, tasks):
        seen.append((name, [task.model.source.name for task in tasks]))
        run(self, name, folder, tasks)

    monkeypatch.setattr(running.ModelRunner, "run", recorded)
    return seen


def test_models_together_give_the_bytes_of_each_alone(inputs, tmp_path):
    predict(inputs, tmp_path / "together")
    for name in MODELS:
        predict(inputs, tmp_path / "alone", models=[name])
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")
    assert len(contents(tmp_path / "alone")) == 3 * 3 * 2
    assert len(set(contents(tmp_path / "alone").values())) == 3 * 3 * 2


def test_stops_between_datasets(inputs, tmp_path, runs):
    """But not before something new is there, or else no job would ever get further."""
    for name in SETS[:2]:
        with pytest.raises(StoppedError, match="stopped as its time is nearly over"):
            predict(inputs, tmp_path / "jobs", is_to_stop=lambda: True)
        assert [dataset for dataset, _ in runs] == [name]
        runs.clear()
    predict(inputs, tmp_path / "jobs", is_to_stop=lambda: True)
    predict(inputs, tmp_path / "whole")
    assert contents(tmp_path / "jobs") == contents(tmp_path / "whole")


def test_only_what_is_missing_is_computed(inputs, tmp_path, runs):
    predict(inputs, tmp_path, models=["one", "two"], sets=["a", "b"])
    before = contents(tmp_path)
    predict(inputs, tmp_path, models=["one", "two"], sets=["a", "b"])
    assert contents(tmp_path) == before
    assert runs == [("a", ["one", "two"]), ("b", ["one", "two"])]
    runs.clear()
    predict(inputs, tmp_path)  # a set more, and a model more
    assert runs == [("a", ["three"]), ("b", ["three"]), ("c", list(MODELS))]
    runs.clear()
    files = output_files(tmp_path, "b", "two", ["logits"])
    files["logits"].unlink()  # both are written again: results of one pass belong together
    files["predictions"].write_bytes(files["predictions"].read_bytes()[:200])
    output_files(tmp_path, "c", "one", [])["predictions"].unlink()
    other, mine = (output_files(tmp_path, "c", m, ["logits"]) for m in ("one", "three"))
    mine["logits"].write_bytes(other["logits"].read_bytes())  # of other weights
    predict(inputs, tmp_path)
    assert runs == [("b", ["two"]), ("c", ["one", "three"])]
    assert before.items() <= contents(tmp_path).items()


@pytest.mark.parametrize("changed", ["weights", "max_value", "top"])
def test_outdated_results_are_replaced(inputs, tmp_path, changed, runs):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    options = {"models": ["one"], "sets": ["a"], "outputs": ["top"]}
    predict(root, tmp_path / "out", **options)
    file = tmp_path / "out/a/one.parquet"
    first = file.read_bytes()
    runs.clear()
    config = {}
    if changed == "weights":
        shutil.copy(root / "two.safetensors", root / "one.safetensors")
    elif changed == "max_value":
        description = read_json(root / "a" / "dataset.json")
        write_json(description | {"max_value": 32}, root / "a" / "dataset.json")
    else:
        config = {"n_top": 8}
    predict(root, tmp_path / "out", **options, **config)
    assert runs == [("a", ["one"])]
    assert (file.read_bytes() == first) == (changed == "top")
    predict(root, tmp_path / "out", **{**options, "outputs": []}, **config)  # `top` is left out
    assert len(runs) == 1


def test_a_failing_set_does_not_lose_the_others(inputs, tmp_path, runs):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    images = root / "b" / "images.npy"
    images.write_bytes(images.read_bytes()[:-1] + b"\x05")
    with pytest.raises(InputError, match=r"inputs/b: images or labels differ"):
        predict(root, tmp_path / "out")
    assert [name for name, _ in runs] == ["a", "b", "c"]
    assert len(contents(tmp_path / "out")) == 2 * 3 * 2
    images.write_bytes((inputs / "b" / "images.npy").read_bytes())
    runs.clear()
    predict(root, tmp_path / "out")
    assert runs == [("b", list(MODELS))]
    predict(inputs, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_failing_model_does_not_lose_the_others(inputs, tmp_path):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    state = load_file(root / "two.safetensors")
    broken = {name: torch.full_like(value, torch.nan) for name, value in state.items()}
    save_file(broken, root / "two.safetensors")
    with pytest.raises(InputError, match=r"two: logits of datapoint 0 of a are not finite.*of c"):
        predict(root, tmp_path / "out")
    assert {name.split("/")[1].split(".")[0] for name in contents(tmp_path / "out")} == {
        "one", "three",
    }  # fmt: skip
