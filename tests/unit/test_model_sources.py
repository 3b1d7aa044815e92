"""Models from timm, torchvision, files, callables and installed packages: loaded, and refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
import torchvision
from safetensors.torch import save_file

import image_sets
from image_sets import encoded_dataset, photos
from matcheval.datasets.folders import write_dataset
from matcheval.datasets.label_spaces import imagenet_classes
from matcheval.errors import InputError
from matcheval.inference.job import predict_datasets
from matcheval.inference.outputs import read_vectors
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles, output_files
from matcheval.models import published as published_module
from matcheval.models.loading import load_model, state_digest
from matcheval.models.networks import build_model
from matcheval.models.packages import load_timm
from matcheval.models.published import describe_published, describe_timm
from matcheval.models.rows import ModelSource
from matcheval.models.transforms import Transform
from matcheval.predictions.files import read_predictions
from matcheval.training.run import initial_model
from trainings import a_set, recipe

TIMM_TAG = "test_resnet.r160_in1k"  # the smallest of timm's models with the usual layers


@pytest.fixture(scope="module")
def dataset():
    return photos(40, edges=(120, 260))


@pytest.fixture(scope="module")
def folder(dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    write_dataset(dataset, folder / "photos")
    torch.manual_seed(0)
    model = load_timm().create_model("test_resnet")
    save_file(model.state_dict(), folder / "resnet.safetensors")
    return folder


def assert_refused(message, dataset, kind, source, weights=None, options=None):
    with pytest.raises(InputError, match=message):
        load_model(ModelSource("m", kind, source, options or {}), weights, dataset)


# Descriptions of the models of timm and torchvision


@pytest.mark.parametrize(
    ("describe", "source", "message"),
    [
        (describe_timm, "resnet50", r"Give the tag of its weights, too: resnet50\.a1_in1k"),
        (describe_timm, "resnit50.a1_in1k", "no pretrained model 'resnit50.a1_in1k'. Did you mean"),
    ],
)  # fmt: skip
def test_unknown_names_are_rejected_with_similar_ones(describe, source, message):
    with pytest.raises(InputError, match=message):
        describe(source)


def test_descriptions_are_cached(tmp_path, monkeypatch):
    models = [ModelSource("a", "timm", "resnet50.a1_in1k"), ModelSource("p", "trained")]
    first = describe_published(models, tmp_path)
    monkeypatch.setattr(published_module, "describe_timm", None)
    assert describe_published(models, tmp_path) == first
    assert list(first) == ["a"]


def test_digests_in_file_names_are_compared(tmp_path):
    file = tmp_path / "w.pth"
    file.write_text("weights")
    check = published_module.check_file_name_digest
    check("https://x/resnet18-0123abcd.pth", file, "0123abcd" + "0" * 56)
    check("https://x/model.safetensors", file, "f" * 64)
    with pytest.raises(InputError, match=r"https://x.* names one that begins with 0123abcd"):
        check("https://x/resnet18-0123abcd.pth", file, "f" * 64)
    assert not file.exists()


# Loading, and predictions from end to end


def test_timm_models_predict_as_timm_does(dataset, folder, tmp_path):
    source, weights = ModelSource("m", "timm", TIMM_TAG), folder / "resnet.safetensors"
    predict_datasets(
        [ModelFiles(source, weights)], {"photos": folder / "photos"}, tmp_path, ["logits"],
        config=InferenceConfig(batch_size=16),
    )  # fmt: skip
    files, timm = output_files(tmp_path, "photos", "m", ["logits"]), load_timm()
    model = timm.create_model("test_resnet", checkpoint_path=weights).eval()
    data = timm.data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(TIMM_TAG).to_dict())
    transform = timm.data.create_transform(**data, is_training=False)
    with torch.inference_mode():
        logits = model(torch.stack([transform(dataset.image(i)) for i in range(len(dataset))]))
    found = read_vectors(files["logits"], "logits").values
    assert np.allclose(found, logits.numpy(), atol=1e-5)
    predictions = read_predictions(files["predictions"])
    assert np.array_equal(predictions.prediction, logits.argmax(1).numpy())
    assert predictions.metadata.items() >= {
        "model_source": f"timm {TIMM_TAG}", "weights_sha256": state_digest(model.state_dict()),
    }.items()  # fmt: skip
    assert predictions.metadata.keys() >= {"timm", "pillow"}


def test_weights_of_another_model_are_rejected(dataset, folder, tmp_path):
    weights, damaged = folder / "resnet.safetensors", tmp_path / "w.safetensors"
    message = r"resnet\.safetensors: not the weights of test_vit"
    assert_refused(message, dataset, "timm", "test_vit.r160_in1k", weights)
    damaged.write_bytes(weights.read_bytes()[:5000])
    message = "Delete it: the workflow downloads it again"
    assert_refused(message, dataset, "timm", TIMM_TAG, damaged)
    assert_refused("no such weights file", dataset, "timm", TIMM_TAG, tmp_path / "none")


def test_torchvision_models_are_built_as_torchvision_does(dataset, tmp_path):
    """The options that torchvision derives from the weights are set; nothing is downloaded."""
    from torchvision import models

    torch.manual_seed(0)
    theirs = models.mobilenet_v3_small()
    torch.save(theirs.state_dict(), tmp_path / "w.pth")
    source = ModelSource("m", "torchvision", "MobileNet_V3_Small_Weights.IMAGENET1K_V1")
    loaded = load_model(source, tmp_path / "w.pth", dataset)
    x = torch.rand(2, 3, 64, 64)
    with torch.inference_mode():
        assert torch.equal(loaded.module.eval()(x), theirs.eval()(x))
    assert loaded.classes == imagenet_classes()
    assert loaded.transform.geometry.name == "short256-bilinear-crop224"
    message, other = "not the weights of ResNet18_Weights", "ResNet18_Weights.IMAGENET1K_V1"
    assert_refused(message, dataset, "torchvision", other, tmp_path / "w.pth")


def test_plain_state_dicts_are_loaded_and_checked(tmp_path):
    pixels, letters = np.zeros((1, 32, 32, 3), np.uint8), tuple("abcdefghij")
    data, of_seven = (image_sets.dataset(pixels, classes=letters[:n]) for n in (10, 7))
    model = build_model("resnet_a", width=16, depth=20, input_shape=(32, 32, 3), n_classes=10)
    weights = tmp_path / "w.safetensors"
    save_file(model.state_dict(), weights)
    options = {"architecture": "resnet_a", "width": 16, "depth": 20, "normalization": "imagenet"}
    source = ModelSource("m", "checkpoint", str(weights), options)
    loaded = load_model(source, weights, data)
    assert loaded.transform == Transform.plain((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    of_file = ("checkpoint", str(weights), weights)
    other = r"size mismatch for linear\.weight: .*\[10, 64\].*\[7, 64\]"
    assert_refused(other, of_seven, *of_file, source.options)
    assert_refused("network the catalogue does not describe", data, *of_file)
    weights.write_bytes(b"no weights")
    assert_refused("not a readable safetensors file", data, *of_file, source.options)


def test_callables_return_a_module_with_or_without_a_transform(dataset, tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(
        "import torch\n"
        "def plain(): return torch.nn.Linear(3, 3)\n"
        "def with_config(): return torch.nn.Linear(3, 3), {'input_size': (3, 64, 64),"
        " 'interpolation': 'bilinear', 'mean': (.5, .5, .5), 'std': (.5, .5, .5)}\n"
        "def wrong(): return 'a model'\n"
    )
    monkeypatch.chdir(tmp_path)
    source = ModelSource("m", "callable", "own_models:plain")
    assert load_model(source, None, dataset).transform == Transform.plain()
    digest = source.code_digest
    loaded = load_model(ModelSource("m", "callable", "own_models:with_config"), None, dataset)
    assert loaded.transform.geometry.name == "short73-bilinear-crop64"
    assert_refused("returned a str", dataset, "callable", "own_models:wrong")
    assert_refused("cannot import 'none'", dataset, "callable", "own_models:none")
    with Path("own_models.py").open("a") as stream:
        stream.write("# edited\n")
    assert source.code_digest != digest


def test_label_spaces_must_agree(folder):
    source, weights = ModelSource("m", "timm", TIMM_TAG), folder / "resnet.safetensors"
    few = encoded_dataset([b"x"], n_classes=10)
    with pytest.raises(InputError, match=r"number of classes is 10, but model m has 1000"):
        load_model(source, weights, few)
    first, second, *others = imagenet_classes()
    with pytest.raises(InputError, match=r"model m: .*0 is 'n01443537', not 'n01440764'"):
        load_model(source, weights, replace(few, classes=(second, first, *others)))


def test_random_weights_are_the_same_each_time(dataset):
    source = ModelSource("m", "random", "test_resnet")
    first, second = (load_model(source, None, dataset).module.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


ARCHITECTURE = "test_efficientnet"  # timm's smallest


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    module = timm.create_model(ARCHITECTURE, pretrained=False)
    for buffer in module.buffers():  # running statistics other than the initial ones
        if buffer.dtype == torch.float32:
            buffer.uniform_(0.5, 1.5)
    return module.eval()


def coloured(n, **changed):
    pixels = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return a_set("photos", n, images=pixels, **changed)


@pytest.fixture
def thousand():
    return coloured(4, classes=tuple(f"c{i:04d}" for i in range(1000)))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of which importing fails, and its folder of weights."""
    folder = tmp_path / "weights_package" / "models"
    folder.mkdir(parents=True)
    (tmp_path / "weights_package" / "__init__.py").write_text("raise RuntimeError('code ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


SOURCE = ModelSource("m", "package", f"weights_package:{ARCHITECTURE}")


def logits(model):
    with torch.inference_mode():
        return model(torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32))


def test_weights_are_assigned_by_name_or_in_their_order(package, network, thousand):
    known = network.state_dict()
    for state in (
        {f"_old.{i}": value for i, value in enumerate(known.values())},
        dict(reversed(known.items())),
    ):
        torch.save(state, package / "net.pth")
        loaded = load_model(SOURCE, None, thousand)
        assert torch.equal(logits(loaded.module), logits(network))
    assert loaded.n_classes == 1000
    assert "weights_package, net.pth" in loaded.description
    config = timm.data.resolve_data_config(model=network)
    assert loaded.transform.mean == tuple(config["mean"])
    assert loaded.transform.geometry.crop == config["input_size"][1:]


def test_weights_that_do_not_fit(package, network, thousand):
    state = network.state_dict()
    last = list(state)[-1]
    torch.save({**state, last: torch.zeros(3)}, package / "net.pth")
    with pytest.raises(InputError, match=rf"{last} has shape \(3,\), but {last}"):
        load_model(SOURCE, None, thousand)
    (package / "more.pth").touch()
    with pytest.raises(InputError, match=r"exactly one file.*more\.pth, net\.pth"):
        load_model(SOURCE, None, thousand)


def test_harmful_files(package, thousand, capsys):
    file = package / "net.pth"
    file.write_bytes(b"cbuiltins\nprint\n(S'code ran'\ntR.")
    with pytest.raises(InputError, match="not readable weights"):
        load_model(SOURCE, None, thousand)
    with pytest.raises(InputError, match="not the weights of resnet18"):
        load_model(ModelSource("m", "timm", "resnet18.a1_in1k"), file, thousand)
    assert capsys.readouterr().out == ""


def test_trainings_start_from_the_weights_of_a_file_or_a_package(package):
    """Torchvision's ResNet-18, by the names of its layers, but for the head."""
    published, file = torchvision.models.resnet18().state_dict(), package / "resnet18.pth"
    torch.save(published, file)
    plain = recipe(architecture="resnet_7x7", width=64, depth=18, normalization="imagenet")
    for given in (str(file), "weights_package"):
        state = initial_model("m", replace(plain, pretrained=given), coloured(16)).state_dict()
        assert state.keys() == published.keys()
        same = {key for key, value in state.items() if torch.equal(value, published[key])}
        assert state.keys() - same == {"fc.weight", "fc.bias"}
