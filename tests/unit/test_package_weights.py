"""Models whose weights an installed package holds."""

import json
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
import torchvision

from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.loading import load_model
from matcheval.models.rows import ModelSource
from matcheval.training.loop import train_to_checkpoint
from matcheval.training.run import initial_model
from trainings import a_set, recipe

ARCHITECTURE = "test_efficientnet"  # timm's smallest


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    module = timm.create_model(ARCHITECTURE, pretrained=False)
    for buffer in module.buffers():  # running statistics other than the initial ones
        if buffer.dtype == torch.float32:
            buffer.uniform_(0.5, 1.5)
    return module.eval()


def photos(n, **changed):
    pixels = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return a_set("photos", n, images=pixels, **changed)


@pytest.fixture
def dataset():
    return photos(4, classes=tuple(f"c{i:04d}" for i in range(1000)))


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


def test_weights_are_assigned_by_name_or_in_their_order(package, network, dataset):
    known = network.state_dict()
    for state in (
        {f"_old.{i}": value for i, value in enumerate(known.values())},
        dict(reversed(known.items())),
    ):
        torch.save(state, package / "net.pth")
        loaded = load_model(SOURCE, None, dataset)
        assert torch.equal(logits(loaded.module), logits(network))
    assert loaded.n_classes == 1000
    assert "weights_package, net.pth" in loaded.description
    config = timm.data.resolve_data_config(model=network)
    assert loaded.transform.mean == tuple(config["mean"])
    assert loaded.transform.geometry.crop == config["input_size"][1:]


def test_weights_that_do_not_fit(package, network, dataset):
    state = network.state_dict()
    file = package / "net.pth"
    last = list(state)[-1]
    for saved, message in (
        ({k: v for k, v in state.items() if k != last}, f"holds {len(state) - 1} tensors, but"),
        ({**state, last: torch.zeros(3)}, rf"{last} has shape \(3,\), but {last}"),
        ({"a": 1}, "not a state dict"),
    ):
        torch.save(saved, file)
        with pytest.raises(InputError, match=message):
            load_model(SOURCE, None, dataset)
    (package / "more.pth").touch()
    with pytest.raises(InputError, match=r"exactly one file.*more\.pth, net\.pth"):
        load_model(SOURCE, None, dataset)


@pytest.mark.parametrize("content", [b"text", b"cbuiltins\nprint\n(S'code ran'\ntR."])
def test_damaged_or_harmful_files(package, dataset, content, capsys):
    file = package / "net.pth"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not readable weights"):
        load_model(SOURCE, None, dataset)
    with pytest.raises(InputError, match="not the weights of resnet18"):
        load_model(ModelSource("m", "timm", "resnet18.a1_in1k"), file, dataset)
    assert capsys.readouterr().out == ""


class TestPretrained:
    """Trainings that start from the weights of a package."""

    RECIPE = recipe(
        architecture="efficientnet_lite", width=32, depth=50, schedule="constant", epochs=1,
        batch_size=8, learning_rate=0.001, normalization="half", pretrained="weights_package",
    )  # fmt: skip

    @pytest.fixture
    def published(self, package):
        torch.manual_seed(1)
        state = timm.create_model("tf_efficientnet_lite0", num_classes=1000).state_dict()
        torch.save({f"_{i}": value for i, value in enumerate(state.values())}, package / "n.pth")
        return state

    def test_a_file_of_weights(self, tmp_path):
        """Torchvision's ResNet-18, by the names of its layers, but for the head."""
        published = torchvision.models.resnet18().state_dict()
        torch.save(published, tmp_path / "resnet18.pth")
        changed = replace(
            self.RECIPE, architecture="resnet_7x7", width=64, depth=18, normalization="imagenet",
            pretrained=str(tmp_path / "resnet18.pth"),
        )  # fmt: skip
        found = initial_model("m", changed, photos(16))
        state = found.state_dict()
        assert state.keys() == published.keys()
        same = {key for key, value in state.items() if torch.equal(value, published[key])}
        assert state.keys() - same == {"fc.weight", "fc.bias"}
        photo = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
        reference = torchvision.models.resnet18()
        reference.load_state_dict(published)
        reference.fc = found.fc
        assert torch.allclose(found.eval()(photo), reference.eval()(photo), atol=1e-5)

    def test_the_whole_network_is_trained(self, published, package, tmp_path):
        write_dataset(photos(16), tmp_path / "photos")
        checkpoint = tmp_path / "m.safetensors"
        train_to_checkpoint(
            "m", json.dumps(self.RECIPE.to_mapping()), [tmp_path / "photos"], [tmp_path / "photos"],
            checkpoint, tmp_path / "m.csv",
        )  # fmt: skip
        loaded = load_checkpoint(checkpoint)
        assert not torch.equal(loaded.state["conv_stem.weight"], published["conv_stem.weight"])
        assert loaded.info.data["pretrained"].startswith("n.pth ")
        (package / "n.pth").unlink()
        assert load_checkpoint(checkpoint).build() is not None  # which needs the package no more
