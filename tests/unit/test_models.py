"""Networks and their checkpoints: shapes, published numbers of parameters, what is refused."""

from functools import partial

import pytest
import torch
from safetensors.torch import save_file

from golden.training import SIZES
from matcheval.errors import InputError
from matcheval.models import checkpoints
from matcheval.models.architectures.parts import Dropout
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


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_image_shape_and_number_of_classes(architecture):
    if SPECIFICATIONS[architecture].min_side > 5:
        with pytest.raises(InputError, match=f"{architecture} does not accept images of 5 ×"):
            build(architecture, (5, 7, 2))
        return
    logits = build(architecture, (5, 7, 2), n_classes=7).eval()(torch.rand(3, 2, 5, 7))
    assert (logits.shape, logits.dtype) == ((3, 7), torch.float32)


@pytest.mark.parametrize(
    ("architecture", "size", "message"),
    [
        ("vgg", (64, 12, 1), "'depth': vgg cannot have depth 12. Give 11 or 13 or 16 or 19"),
        ("resnet_a", (16, 21, 1), r"resnet_a cannot have depth 21. Give 6 n \+ 2, at least 8"),
        ("resnext", (4, 29, 0), "'groups': resnext cannot have 0 groups"),
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
        (partial(path.write_bytes, zipped), "not a readable checkpoint"),
        (partial(path.write_bytes, whole[:100]), "not a readable checkpoint"),
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
    ("changes", "message"), [({"classes": ("a",)}, DISAGREE), ({"width": 5}, OTHERS)]
)
def test_descriptions_that_do_not_fit_are_rejected(tmp_path, changes, message):
    path = tmp_path / "m.safetensors"
    save_checkpoint(checkpoint(**changes), path)
    with pytest.raises(InputError, match=message):
        load_checkpoint(path)


# Exact counts as published with reference implementations for CIFAR-10: K. Liu's pytorch-cifar (1),
# O. Sémery's pytorchcv (2), the description of the published weights (3); of other networks of 1
# and of Y. Chen's pytorch-cifar-models (4), written out layer by layer, and their weights counted.
COUNTS = {
    "vgg": {(64, 11): 9_231_114, (64, 19): 20_040_522},
    "resnet_a": {(16, 20): 269_722, (16, 110): 1_727_962},  # 3, but for the last
    "resnet_imagenet": {(64, 18): 11_173_962, (64, 50): 23_520_842},
    "densenet": {(12, 100): 769_162, (24, 250): 15_324_406, (40, 190): 25_624_430},  # 2
    # 2; the paper truncates the second to 68.1 million.
    "resnext": {(64, 29, 8): 34_426_698, (64, 29, 16): 68_155_210, (4, 29, 32): 4_775_754},
    "preact": {(16, 110): 1_730_522},  # 2
    "preact_bottleneck": {(16, 164): 1_703_258},  # 2
    # 1 has 11,171,146, but not the last norm's 2 · 512 that the paper's figure 4e shows.
    "preact_imagenet": {(64, 18): 11_171_146 + 1024},
    "shake_shake": {(32, 26): 2_923_162},  # 2
    # 2; the paper's 1.7, 3.8 and 28.3 million leave out some.
    "pyramidnet": {(48, 110): 1_772_706, (84, 110): 3_904_446, (270, 110): 28_485_477},
    "dpn": {(96, 26, 32): 11_574_842, (96, 92, 32): 34_236_634},
    "densenet_imagenet": {(32, 121): 6_956_298, (32, 169): 12_493_322},
    # 1 has 3,599,686, of which 1,088 of the first block are not used.
    "efficientnet": {(32, 49): 3_599_686 - 1_088},
    "googlenet": {(192, 29): 6_166_250},
    "mobilenet_v2": {(32, 54): 2_296_922},
    "mobilenet": {(32, 28): 3_217_226},
    "pnasnet_a": {(44, 22): 130_646},
    "pnasnet_b": {(32, 42): 451_626},
    "preact_unnormed": {(64, 18): 11_171_146, (64, 50): 23_509_066},
    "regnet_x": {(24, 41): 2_321_946, (32, 68): 4_779_338},
    "regnet_y": {(32, 68): 5_714_362},
    "resnext_doubling": {(64, 29, 2): 9_128_778, (4, 29, 32): 4_774_218},
    "sepreact_unnormed": {(64, 18): 11_260_354},
    "shufflenet": {(200, 50, 2): 887_582, (240, 50, 3): 862_768},
    "shufflenet_v2": {(48, 51): 352_042, (224, 51): 5_338_026},
    "repvgg": {(48, 23): 7_840_874},  # 4
    "resnet_b": {(16, 44): 658_586 + 2_752},  # 4: option B, as below
    "vgg_three_linear": {(64, 13): 9_416_010 + 2 * (512 * 512 + 512)},  # 4
    # 2 has 274,847 with projections (option B), which are 2,752.
    "seresnet_a": {(16, 20): 274_847 - 2_752},
    # Hu et al., section 3: 2 / 16 Σ N_s C_s² weights more, here with their biases.
    "seresnet_imagenet": {(64, 18): 11_173_962 + 87_040 + 2_040},
}  # fmt: skip
NETWORKS = {(name, *size): count for name, sizes in COUNTS.items() for size, count in sizes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_published_parameter_counts(network):
    with torch.device("meta"):
        name, width, depth, groups = (*network, 1)[:4]
        model = build(name, (32, 32, 3), size=(width, depth, groups))
        assert model.eval()(torch.empty(3, 3, 32, 32)).shape == (3, 10)
    assert sum(p.numel() for p in model.parameters()) == NETWORKS[network]


@pytest.mark.parametrize("per_image", [False, True])
def test_dropout_drops_values_or_images_by_noise_of_its_own(per_image):
    dropout, state = Dropout(0.25, per_image=per_image).train(), torch.random.get_rng_state()
    dropout.noise = torch.Generator().manual_seed(0)
    x = torch.ones(4000, 3, 2, 2)
    out = dropout(x)
    assert out.unique().tolist() == pytest.approx([0, 4 / 3])
    assert out.mean() == pytest.approx(1, abs=0.03)
    assert torch.equal(out, out[:, :1, :1, :1].expand_as(out)) == per_image
    assert not torch.equal(out, dropout(x))
    assert torch.equal(dropout.eval()(x), x)
    assert torch.equal(torch.random.get_rng_state(), state)
