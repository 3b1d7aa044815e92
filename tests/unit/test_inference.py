import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from matcheval.datasets import build_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.inference import OUTPUTS
from matcheval.inference.devices import resolve_device
from matcheval.inference.forward import run_inference
from matcheval.inference.outputs import (
    _SINKS,
    LogitSink,
    PredictionSink,
    make_sinks,
    read_logits,
)
from matcheval.inference.running import predict_to_files
from matcheval.models.building import build_model
from matcheval.models.checkpoints import Checkpoint, CheckpointInfo, save_checkpoint
from matcheval.prediction_files import read_predictions

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def dataset():
    return build_dataset("digits-validation", "digits", {"part": "validation"})


@pytest.fixture(scope="module")
def checkpoint():
    torch.manual_seed(1)
    model = build_model("resnet", width=4, depth=2, input_shape=(8, 8, 1), n_classes=10)
    model(torch.rand(32, 1, 8, 8))  # batch norm has seen data, so that evaluation mode matters
    info = CheckpointInfo("m", "resnet", 4, 2, (8, 8, 1), 10, 16, {}, {}, {})
    return Checkpoint(info, model.state_dict())


@pytest.fixture(scope="module")
def files(dataset, checkpoint, tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    write_dataset(dataset, root / "dataset")
    save_checkpoint(checkpoint, root / "m.safetensors")
    return root


def predict(files, outputs, model="m", dataset_name="digits-validation", batch_size=32):
    predict_to_files(
        model, files / "m.safetensors", dataset_name, files / "dataset", outputs,
        batch_size=batch_size, device="cpu",
    )  # fmt: skip


class Recorder:
    def __init__(self):
        self.batches, self.finished = [], 0

    def update(self, batch):
        assert not self.finished
        self.batches.append(batch)

    def finish(self):
        self.finished += 1


def forward(checkpoint, dataset, sinks, batch_size=32):
    run_inference(
        checkpoint.build(), dataset, model_name="m", batch_size=batch_size, device=CPU, sinks=sinks
    )


def test_the_registry_is_complete():
    assert tuple(_SINKS) == OUTPUTS


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_every_sink_sees_every_row_once_in_order(checkpoint, dataset, batch_size):
    sinks = [Recorder(), Recorder()]
    forward(checkpoint, dataset, sinks, batch_size)
    for sink in sinks:
        assert sink.finished == 1
        assert [b.start for b in sink.batches] == list(range(0, 100, batch_size))
        labels = np.concatenate([batch.labels for batch in sink.batches])
        assert np.array_equal(labels, dataset.labels)
        assert all(b.logits.dtype == np.float32 for b in sink.batches)


def test_outputs_are_those_of_a_plain_forward_pass(checkpoint, dataset, files, tmp_path):
    predict(files, {"predictions": tmp_path / "p.parquet", "logits": tmp_path / "l.parquet"})
    model = build_model("resnet", width=4, depth=2, input_shape=(8, 8, 1), n_classes=10)
    model.load_state_dict(checkpoint.state)
    model.eval()
    x = torch.tensor(dataset.images[..., 0], dtype=torch.float32)[:, None] / 16
    with torch.no_grad():
        logits = model(x)
    p = torch.softmax(logits.double(), dim=1)
    found = read_predictions(tmp_path / "p.parquet")
    assert np.array_equal(found.label, dataset.labels)
    assert np.array_equal(found.prediction, p.argmax(dim=1).numpy())
    assert np.allclose(found.probability, p.max(dim=1).values.numpy(), atol=1e-6)
    kept = read_logits(tmp_path / "l.parquet")
    assert np.allclose(kept.logits, logits.numpy(), atol=1e-5)
    assert np.array_equal(kept.index, found.index)
    assert kept.metadata == found.metadata


def test_the_batch_size_does_not_change_predictions(checkpoint, dataset, tmp_path):
    found = []
    for batch_size in (1, 13, 100):
        sink = PredictionSink(tmp_path / "p.parquet", {"n_classes": "10"})
        forward(checkpoint, dataset, [sink], batch_size)
        found.append(sink.collect())
    for other in found[1:]:
        assert np.array_equal(other.prediction, found[0].prediction)
        assert np.allclose(other.probability, found[0].probability, atol=1e-6)


def test_files_repeat_to_the_byte_and_say_what_made_them(files, tmp_path, dataset):
    for name in ("one", "two"):
        outputs = {out: tmp_path / f"{name}-{out}.parquet" for out in OUTPUTS}
        predict(files, outputs)
    for out in OUTPUTS:
        one, two = (tmp_path / f"{name}-{out}.parquet" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    metadata = read_predictions(tmp_path / "one-predictions.parquet").metadata
    assert metadata["model"] == "m"
    assert metadata["dataset"] == "digits-validation"
    assert metadata["dataset_sha256"] == dataset.sha256
    assert (metadata["n_classes"], metadata["dtype"], metadata["device"]) == (
        "10", "float32", "cpu",
    )  # fmt: skip
    assert metadata.keys() >= {"weights_sha256", "transform", "python", "torch", "matcheval"}


def test_the_model_is_in_evaluation_mode(checkpoint, dataset):
    model = checkpoint.build().train()
    run_inference(model, dataset, model_name="m", batch_size=32, device=CPU, sinks=[])
    assert not model.training
    assert all(torch.equal(v, checkpoint.state[k]) for k, v in model.state_dict().items())


def test_logits_that_are_no_numbers_are_refused_before_anything_is_written(checkpoint, dataset):
    model = checkpoint.build()
    with torch.no_grad():
        next(reversed(list(model.parameters())))[3] = float("nan")
    sink = Recorder()
    with pytest.raises(InputError, match="m: logits of datapoint 0 of digits-validation"):
        run_inference(model, dataset, model_name="m", batch_size=32, device=CPU, sinks=[sink])
    assert (sink.batches, sink.finished) == ([], 0)


def test_wrong_widths_and_batch_sizes_are_refused(checkpoint, dataset):
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    with pytest.raises(InputError, match=r"logits of shape \(32, 3\) for the 10 classes"):
        run_inference(model, dataset, model_name="m", batch_size=32, device=CPU, sinks=[])
    with pytest.raises(InputError, match="'batch_size': is 0"):
        forward(checkpoint, dataset, [], batch_size=0)


def test_unknown_outputs_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'features'\. Known: predictions, logits"):
        make_sinks({"features": tmp_path / "f"}, {})


def test_absent_devices_are_refused_and_auto_is_logged(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device("cpu") == CPU
    for name in ("cuda", "mps"):
        with pytest.raises(InputError, match=f"no '{name}'.*Present: cpu"):
            resolve_device(name)
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        resolve_device("gpu")
    with caplog.at_level("INFO"):
        assert resolve_device("auto") == CPU
    assert "device auto: cpu" in caplog.text
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == torch.device("cuda")


def test_wrong_names_are_refused(files, tmp_path):
    outputs = {"predictions": tmp_path / "p.parquet"}
    with pytest.raises(InputError, match=r"m\.safetensors: is of 'm', not of 'n'"):
        predict(files, outputs, model="n")
    with pytest.raises(InputError, match="dataset: is of 'digits-validation', not of 'd'"):
        predict(files, outputs, dataset_name="d")
    assert not any(tmp_path.iterdir())


def test_models_and_datasets_of_other_shapes_are_refused(files, checkpoint, tmp_path):
    state = build_model("linear", width=0, depth=0, input_shape=(8, 8, 1), n_classes=3).state_dict()
    info = CheckpointInfo("m", "linear", 0, 0, (8, 8, 1), 3, 16, {}, {}, {})
    save_checkpoint(Checkpoint(info, state), tmp_path / "m.safetensors")
    with pytest.raises(InputError, match="number of classes is 10, but model m takes 3"):
        predict_to_files(
            "m", tmp_path / "m.safetensors", "digits-validation", files / "dataset",
            {"predictions": tmp_path / "p.parquet"}, batch_size=8, device="cpu",
        )  # fmt: skip


def test_foreign_files_are_no_logits(files, tmp_path):
    predict(files, {"predictions": tmp_path / "p.parquet"})
    with pytest.raises(InputError, match="are not those of logits"):
        read_logits(tmp_path / "p.parquet")


def test_logit_sink_keeps_batches_in_order(checkpoint, dataset, tmp_path):
    sink = LogitSink(tmp_path / "l.parquet", {"n_classes": "10"})
    forward(checkpoint, dataset, [sink], batch_size=30)
    assert np.array_equal(sink.collect().index, np.arange(100))


def command(files, tmp_path, *more):
    return [
        sys.executable, str(SCRIPTS / "predict_dataset.py"), "--model", "m",
        "--checkpoint", str(files / "m.safetensors"), "--dataset", str(files / "dataset"),
        "--dataset-name", "digits-validation", "--batch-size", "64", "--threads", "1",
        "--output", str(tmp_path / "p.parquet"), *more,
    ]  # fmt: skip


def test_the_command_line_predicts(files, tmp_path):
    logits = tmp_path / "l.parquet"
    line = command(files, tmp_path, "--device", "cpu", "--logits", str(logits))
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("m on digits-validation: ")
    assert len(read_predictions(tmp_path / "p.parquet")) == len(read_logits(logits).index) == 100


def test_the_command_line_refuses_in_one_line(files, tmp_path):
    line = command(files, tmp_path, "--device", "abacus")
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: 'device': unknown device 'abacus'")
    assert done.stderr.count("\n") == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("module", ["training.running", "inference.running"])
def test_starts_import_no_more_than_they_need(module):
    heavy = {"sklearn", "pandas", "scipy", "torch._dynamo", "torchvision"}
    code = f"import sys, matcheval.{module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=SCRIPTS,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
