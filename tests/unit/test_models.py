from functools import partial

import pytest
import torch
from safetensors.torch import save_file

from golden.training import SIZES
from matcheval.errors import InputError
from matcheval.models import checkpoints
from matcheval.models.architectures.parts import BUILDERS
from matcheval.models.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from matcheval.models.networks import build_model
from matcheval.models.sizes import ARCHITECTURES, SPECIFICATIONS


def build(architecture, shape=None, n_classes=10, size=None):
    width, depth, groups = size or SIZES[architecture][:3]
    shape = shape or (SIZES[architecture][3], SIZES[architecture][3], 1)
    size = {"width": width, "depth": depth, "groups": groups}
    return build_model(architecture, **size, input_shape=shape, n_classes=n_classes)


def checkpoint(architecture="cnn", **changes):
    torch.manual_seed(3)
    width, depth, groups, side = SIZES[architecture]
    values = {
        "model": "m", "architecture": architecture, "width": width, "depth": depth,
        "groups": groups, "input_shape": (side, side, 1), "n_classes": 10, "max_value": 16,
        "recipe": {"seed": 0}, "data": {"train": "d"}, "versions": {"torch": "x"},
        "classes": tuple("0123456789"), "mean": (0.5,), "std": (0.25,),
    }  # fmt: skip
    return Checkpoint(
        checkpoints.CheckpointInfo(**(values | changes)), build(architecture).state_dict()
    )


def test_the_registry_is_complete():
    build("linear")  # which imports all families
    assert set(BUILDERS) == set(ARCHITECTURES) == set(SIZES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", [(32, 32, 3), (5, 7, 2)])
def test_any_image_shape_and_number_of_classes(architecture, shape):
    height, width, channels = shape
    if min(height, width) < SPECIFICATIONS[architecture].min_side:
        message = f"{architecture} does not accept images of {height} ×"
        with pytest.raises(InputError, match=message):
            build(architecture, shape)
        return
    model = build(architecture, shape, n_classes=7).eval()
    logits = model(torch.rand(3, channels, height, width))
    assert (logits.shape, logits.dtype) == ((3, 7), torch.float32)


@pytest.mark.parametrize(
    ("architecture", "size", "message"),
    [
        ("vgg", (64, 12, 1), "'depth': vgg cannot have depth 12. Give 11 or 13 or 16 or 19"),
        ("resnet_a", (16, 21, 1), r"resnet_a cannot have depth 21. Give 6 n \+ 2, at least 8"),
        ("resnext", (4, 29, 0), "'groups': resnext cannot have 0 groups"),
        ("shufflenet", (50, 50, 2), "cannot have width 50 .*multiple of 4 × groups above 24"),
    ],
)
def test_invalid_architectures_are_rejected(architecture, size, message):
    with pytest.raises(InputError, match=message):
        build(architecture, (32, 32, 3), size=size)
    with pytest.raises(InputError, match="1 classes"):
        build("linear", n_classes=1)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_checkpoints_are_read_back_and_are_byte_identical(architecture, tmp_path):
    saved = checkpoint(architecture)
    for name in ("one", "two"):
        save_checkpoint(saved, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    loaded = load_checkpoint(tmp_path / "one")
    assert loaded.info == saved.info
    images = torch.rand(2, 1, *saved.info.input_shape[:2])
    model = build(architecture).eval()
    model.load_state_dict(saved.state)
    assert torch.equal(loaded.build()(images), model(images))
    assert not loaded.build().training


def test_truncated_missing_and_foreign_checkpoints_are_rejected(tmp_path):
    path, weights = tmp_path / "m.safetensors", {"w": torch.zeros(2)}
    save_checkpoint(checkpoint(), path)
    whole = path.read_bytes()
    zipped = b"PK\x03\x04 a zip file, as torch.save writes them" * 10
    for make, message in (
        (path.unlink, "no such file"),
        *((partial(path.write_bytes, content), "not a readable checkpoint")
          for content in (b"", whole[:4], whole[:100], zipped)),
        (partial(path.write_bytes, whole[:-1]), "damaged: its bytes do not have the SHA-256"),
        (partial(save_file, weights, path), "not a checkpoint of this workflow"),
        (partial(save_file, weights, path, metadata={"matcheval": '{"model": "m"}'}),
         "damaged or was written by another version"),
    ):  # fmt: skip
        make()
        with pytest.raises(InputError, match=rf"m\.safetensors.*{message}"):
            load_checkpoint(path)


DISAGREE, OTHERS = "channels or classes disagree", r"m\.safetensors.*the weights are not those"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ("a",)}, DISAGREE),
        ({"std": (1.0, 1.0)}, DISAGREE),
        ({"n_classes": 9, "classes": tuple("012345678")}, OTHERS),
        ({"width": 5}, OTHERS),
    ],
)
def test_descriptions_that_do_not_fit_are_rejected(tmp_path, changes, message):
    path = tmp_path / "m.safetensors"
    save_checkpoint(checkpoint(**changes), path)
    with pytest.raises(InputError, match=message):
        load_checkpoint(path)
