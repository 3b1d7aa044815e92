"""Inference: forward passes and their outputs; jobs that run models on many datasets."""

import shutil
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import image_sets
from matcheval.datasets.folders import write_dataset
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.prepare import build_dataset
from matcheval.errors import InputError, StoppedError
from matcheval.inference import OUTPUTS, running
from matcheval.inference import outputs as blocks_module
from matcheval.inference.forward import resolved
from matcheval.inference.job import predict_datasets
from matcheval.inference.outputs import build_writers, read_statistics, read_vectors
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles, output_files
from matcheval.io.self_digests import read_json, write_json
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, save_checkpoint
from matcheval.models.networks import build_model
from matcheval.models.rows import ModelSource
from matcheval.predictions.correctness import dataset_accuracies
from matcheval.predictions.files import read_predictions
from matcheval.predictions.softmax import read_top_k, top_k_classes, write_top_k
from trainings import Kept, forward

run = partial(forward, batch_size=32)


@pytest.fixture(scope="module")
def dataset():
    return build_dataset("digits-validation", "digits", {"part": "validation"})


@pytest.fixture(scope="module")
def checkpoint():
    torch.manual_seed(1)
    model = build_model("resnet", width=4, depth=2, input_shape=(8, 8, 1), n_classes=10)
    model(torch.rand(32, 1, 8, 8))  # batch norm has seen data, so that evaluation mode matters
    info = CheckpointInfo(
        "m", "resnet", 4, 2, (8, 8, 1), 10, 16, {}, {}, {}, tuple("0123456789"), (0.0,), (1.0,)
    )
    return Checkpoint(info, model.state_dict())


@pytest.fixture(scope="module")
def files(dataset, checkpoint, tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    write_dataset(dataset, root / "dataset")
    save_checkpoint(checkpoint, root / "m.safetensors")
    return root


def predict(files, out, outputs=(), model="m", dataset_name="digits-validation", **config):
    """Run the model; return its files."""
    predict_datasets(
        [ModelFiles(ModelSource(model, "trained"), files / "m.safetensors")],
        {dataset_name: files / "dataset"}, out, outputs,
        config=InferenceConfig(**{"batch_size": 32, **config}),
    )  # fmt: skip
    return output_files(out, dataset_name, model, outputs)


def test_outputs_are_those_of_a_plain_forward_pass(checkpoint, dataset, files, tmp_path):
    outputs = predict(files, tmp_path, ["logits"])
    model = build_model("resnet", width=4, depth=2, input_shape=(8, 8, 1), n_classes=10)
    model.load_state_dict(checkpoint.state)
    model.eval()
    x = torch.tensor(dataset.images[..., 0], dtype=torch.float32)[:, None] / 16
    with torch.no_grad():
        logits = model(x)
    p = torch.softmax(logits.double(), dim=1)
    found = read_predictions(outputs["predictions"])
    assert np.array_equal(found.label, dataset.labels)
    assert np.array_equal(found.prediction, p.argmax(dim=1).numpy())
    assert np.allclose(found.probability, p.max(dim=1).values.numpy(), atol=1e-6)
    kept = read_vectors(outputs["logits"], "logits")
    assert np.allclose(kept.values, logits.numpy(), atol=1e-5)
    assert np.array_equal(kept.index, found.index)
    assert {**kept.metadata, "n_tied": "0"} == {**found.metadata, "width": "10"}


def test_top_k_classes_are_in_order_of_the_logits(files, tmp_path, dataset):
    outputs = predict(files, tmp_path, ["logits", "top"], n_top=3)
    labels, classes = read_top_k(outputs["top"])
    logits = read_vectors(outputs["logits"], "logits").values
    assert np.array_equal(labels, dataset.labels)
    assert np.array_equal(classes, np.argsort(-logits, axis=1, kind="stable")[:, :3])
    spec = DatasetSpec("digits-validation", "digits", {"part": "validation"})
    other = tmp_path / "other.parquet"
    write_top_k(labels, (classes + 1) % 10, other, {})
    with pytest.raises(InputError, match="differ from the prediction file beside it"):
        dataset_accuracies(spec, ["m"], [outputs["predictions"]], [other])
    tied = np.array([[1.0, 3, 3, 1], [0, 0, 0, 0]], np.float32)
    assert top_k_classes(tied, 3).tolist() == [[1, 2, 0], [0, 1, 2]]  # the lowest first


def test_files_are_reproducible_to_the_byte_and_hold_their_provenance(files, tmp_path, dataset):
    one, two = (predict(files, tmp_path / name, OUTPUTS[1:]) for name in ("one", "two"))
    for out in OUTPUTS:
        assert one[out].read_bytes() == two[out].read_bytes()
    metadata = read_predictions(one["predictions"]).metadata
    assert metadata.items() >= {
        "model": "m", "dataset": "digits-validation", "dataset_sha256": dataset.sha256,
        "n_classes": "10", "dtype": "float32", "device": "cpu",
    }.items()  # fmt: skip
    assert metadata.keys() >= {"weights_sha256", "transform", "python", "torch", "matcheval"}


def test_what_does_not_belong_together_is_refused(files, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"m\.safetensors: holds the weights of model 'm', not"):
        predict(files, tmp_path, model="n")
    with pytest.raises(InputError, match="dataset: is of 'digits-validation', not of 'd'"):
        predict(files, tmp_path, dataset_name="d")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"no 'cuda'.*Available: cpu"):
        predict(files, tmp_path, device="cuda")
    assert not any(tmp_path.iterdir())


def test_rows_with_equal_scores_are_counted_over_batches(dataset, tmp_path):
    """Two classes have one score, from a network in half precision."""

    class Tied(torch.nn.Module):
        def forward(self, images):
            logits = torch.zeros(len(images), 10, dtype=torch.bfloat16)
            logits[:, :2] = 1
            return logits + images.flatten(1).sum(1, keepdim=True).to(torch.bfloat16) * 0

    run(Tied(), dataset, build_writers({"predictions": tmp_path / "m.parquet"}, {}), batch_size=30)
    found = read_predictions(tmp_path / "m.parquet")
    assert found.metadata["n_tied"] == "100"
    assert not found.prediction.any()
    assert set(found.probability) == {np.float32(np.e / (2 * np.e + 8))}


@pytest.mark.parametrize("block", [7, 2048])
def test_what_is_written_does_not_depend_on_the_blocks(
    checkpoint, dataset, tmp_path, block, monkeypatch
):
    monkeypatch.setattr(blocks_module, "BLOCK", block)
    names = ("logits", "features", "statistics")
    paths = {name: tmp_path / name for name in names}
    run(checkpoint.build(), dataset, build_writers(paths, {"n_classes": "10"}), batch_size=30)
    logits = read_vectors(paths["logits"], "logits")
    features = read_vectors(paths["features"], "features")
    assert np.array_equal(logits.index, np.arange(100))
    # The last layer maps the features to the logits.
    layer = list(checkpoint.build().modules())[-1]
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    assert np.allclose(features.values @ weight.T + bias, logits.values, atol=1e-5)
    found, metadata = read_statistics(paths["statistics"])
    wide = features.values.astype(np.float64)
    p = torch.softmax(torch.tensor(logits.values), dim=1).numpy().astype(np.float64)
    assert (found.n, metadata) == (100, {"n_classes": "10"})
    assert np.allclose(found.feature_mean, wide.mean(axis=0))
    assert np.allclose(found.feature_covariance, np.cov(wide.T))
    assert np.allclose(found.softmax_mean, p.mean(axis=0))
    assert np.allclose(found.softmax_gram, p.T @ p / 100)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_gives_the_same_logits(checkpoint, dataset):
    """Takes ten seconds, for the compiler."""
    compiled, plain = Kept(), Kept()
    run(checkpoint.build(), dataset, [compiled], batch_size=50, compile=True)
    run(checkpoint.build(), dataset, [plain], batch_size=50)
    assert np.allclose(compiled.all("logits"), plain.all("logits"), atol=1e-4)


class Hungry(torch.nn.Module):
    """A model that runs out of memory for batches above a given size."""

    def __init__(self, model, most, error):
        super().__init__()
        self.model, self.most, self.error, self.sizes = model, most, error, []

    def forward(self, x):
        self.sizes.append(len(x))
        if len(x) > self.most:
            if self.error is None:  # of the CPU's allocator
                torch.empty(1 << 50)
            raise self.error("CUDA out of memory. Tried to allocate 1 TiB")
        return self.model(x)


@pytest.mark.parametrize("error", [RuntimeError, None])
def test_out_of_memory_halves_the_batches_and_continues(checkpoint, dataset, error, caplog):
    writer, plain = Kept(), Kept()
    model = Hungry(checkpoint.build(), 10, error)
    with caplog.at_level("WARNING"):
        run(model, dataset, [writer], batch_size=64)
    assert model.sizes == [64, 32, 16] + [8] * 8 + [8] * 4 + [4]
    assert "out of memory with 16 images, continuing with 8" in caplog.text
    run(checkpoint.build(), dataset, [plain])
    assert np.allclose(writer.all("logits"), plain.all("logits"), atol=1e-5)
    assert np.array_equal(writer.all("labels"), dataset.labels)


def test_models_that_do_not_fit_are_refused(checkpoint, dataset):
    narrow = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    large = Hungry(checkpoint.build(), 0, torch.OutOfMemoryError)
    for model, message in (
        (narrow, r"logits of shape \(32, 3\) for the 10 classes"),
        (large, "image 0 of digits-validation alone exceeds the memory"),
    ):
        writer = Kept()
        with pytest.raises(InputError, match=message):
            run(model, dataset, [writer])
        assert (writer.batches, writer.finished, writer.discarded) == ([], 0, 1)


def test_failed_passes_leave_no_files(checkpoint, dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK", 8)  # so that something was written
    paths = {name: tmp_path / name for name in OUTPUTS}
    model = checkpoint.build()
    calls = []

    def fail(*_):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("shapes differ")

    model.register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="shapes differ"):
        run(model, dataset, build_writers(paths, {}))
    assert not any(tmp_path.iterdir())


def test_precisions_are_close_and_leave_no_trace(checkpoint, dataset):
    found = {}
    for precision in ("fp32", "bf16", "fp16"):
        writer = Kept()
        run(checkpoint.build(), dataset, [writer], precision=precision)
        found[precision] = writer.all("logits")
        assert found[precision].dtype == np.float32
    for precision in ("bf16", "fp16"):
        assert 0 < np.abs(found[precision] - found["fp32"]).max() < 0.2
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(InputError, match="cpu device does not support tf32"):
        resolved(InferenceConfig("cpu", precision="tf32"))


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


def predict_all(
    root, out, models=MODELS, sets=SETS, outputs=("logits",), should_stop=lambda: False, **config
):
    predict_datasets(
        [model(root, name) for name in models], {name: root / name for name in sets}, out, outputs,
        config=InferenceConfig(**config), should_stop=should_stop,
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
    predict_all(inputs, tmp_path / "together")
    for name in MODELS:
        predict_all(inputs, tmp_path / "alone", models=[name])
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")
    assert len(contents(tmp_path / "alone")) == 3 * 3 * 2
    assert len(set(contents(tmp_path / "alone").values())) == 3 * 3 * 2


def test_stops_between_datasets(inputs, tmp_path, runs):
    """But not before something new is there, or else no job would ever get further."""
    for name in SETS[:2]:
        with pytest.raises(StoppedError, match="stopped as its time is nearly over"):
            predict_all(inputs, tmp_path / "jobs", should_stop=lambda: True)
        assert [dataset for dataset, _ in runs] == [name]
        runs.clear()
    predict_all(inputs, tmp_path / "jobs", should_stop=lambda: True)
    predict_all(inputs, tmp_path / "whole")
    assert contents(tmp_path / "jobs") == contents(tmp_path / "whole")


def test_only_what_is_missing_is_computed(inputs, tmp_path, runs):
    predict_all(inputs, tmp_path, models=["one", "two"], sets=["a", "b"])
    before = contents(tmp_path)
    predict_all(inputs, tmp_path, models=["one", "two"], sets=["a", "b"])
    assert contents(tmp_path) == before
    assert runs == [("a", ["one", "two"]), ("b", ["one", "two"])]
    runs.clear()
    predict_all(inputs, tmp_path)  # a set more, and a model more
    assert runs == [("a", ["three"]), ("b", ["three"]), ("c", list(MODELS))]
    runs.clear()
    files = output_files(tmp_path, "b", "two", ["logits"])
    files["logits"].unlink()  # both are written again: results of one pass belong together
    files["predictions"].write_bytes(files["predictions"].read_bytes()[:200])
    output_files(tmp_path, "c", "one", [])["predictions"].unlink()
    other, mine = (output_files(tmp_path, "c", m, ["logits"]) for m in ("one", "three"))
    mine["logits"].write_bytes(other["logits"].read_bytes())  # of other weights
    predict_all(inputs, tmp_path)
    assert runs == [("b", ["two"]), ("c", ["one", "three"])]
    assert before.items() <= contents(tmp_path).items()


@pytest.mark.parametrize("changed", ["weights", "max_value", "top"])
def test_outdated_results_are_replaced(inputs, tmp_path, changed, runs):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    options = {"models": ["one"], "sets": ["a"], "outputs": ["top"]}
    predict_all(root, tmp_path / "out", **options)
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
    predict_all(root, tmp_path / "out", **options, **config)
    assert runs == [("a", ["one"])]
    assert (file.read_bytes() == first) == (changed == "top")
    predict_all(root, tmp_path / "out", **{**options, "outputs": []}, **config)  # `top` is left out
    assert len(runs) == 1


def test_a_failing_set_does_not_lose_the_others(inputs, tmp_path, runs):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    images = root / "b" / "images.npy"
    images.write_bytes(images.read_bytes()[:-1] + b"\x05")
    with pytest.raises(InputError, match=r"inputs/b: images or labels differ"):
        predict_all(root, tmp_path / "out")
    assert [name for name, _ in runs] == ["a", "b", "c"]
    assert len(contents(tmp_path / "out")) == 2 * 3 * 2
    images.write_bytes((inputs / "b" / "images.npy").read_bytes())
    runs.clear()
    predict_all(root, tmp_path / "out")
    assert runs == [("b", list(MODELS))]


def test_a_failing_model_does_not_lose_the_others(inputs, tmp_path):
    root = shutil.copytree(inputs, tmp_path / "inputs")
    state = load_file(root / "two.safetensors")
    broken = {name: torch.full_like(value, torch.nan) for name, value in state.items()}
    save_file(broken, root / "two.safetensors")
    with pytest.raises(InputError, match=r"two: logits of datapoint 0 of a are not finite.*of c"):
        predict_all(root, tmp_path / "out")
    assert {name.split("/")[1].split(".")[0] for name in contents(tmp_path / "out")} == {
        "one", "three",
    }  # fmt: skip
