"""The published networks: parameter counts and random parts."""

import pytest
import torch

from matcheval.models.architectures.parts import Dropout
from matcheval.models.networks import build_model


def build(architecture, width, depth, groups=1):
    size = {"width": width, "depth": depth, "groups": groups}
    return build_model(architecture, **size, input_shape=(32, 32, 3), n_classes=10)


# Exact counts as published with reference implementations for CIFAR-10: K. Liu's pytorch-cifar (1),
# O. Sémery's pytorchcv (2), the description of the published weights (3); of other networks of 1
# and of Y. Chen's pytorch-cifar-models (4), written out layer by layer, and their weights counted.
COUNTS = {
    "vgg": {(64, 11): 9_231_114, (64, 13): 9_416_010, (64, 16): 14_728_266, (64, 19): 20_040_522},
    "resnet_a": {  # 3, but for the last
        (16, 20): 269_722, (16, 32): 464_154, (16, 44): 658_586, (16, 56): 853_018,
        (16, 110): 1_727_962,
    },
    "resnet_imagenet": {
        (64, 18): 11_173_962, (64, 34): 21_282_122, (64, 50): 23_520_842, (64, 101): 42_512_970,
    },
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
    "preact_unnormed": {
        (64, 18): 11_171_146, (64, 34): 21_279_306, (64, 50): 23_509_066, (64, 101): 42_501_194,
    },
    "regnet_x": {(24, 41): 2_321_946, (32, 68): 4_779_338},
    "regnet_y": {(32, 68): 5_714_362},
    "resnext_doubling": {
        (64, 29, 2): 9_128_778, (4, 29, 32): 4_774_218, (64, 29, 4): 27_104_586,
    },
    "sepreact_unnormed": {(64, 18): 11_260_354},
    "shufflenet": {(200, 50, 2): 887_582, (240, 50, 3): 862_768},
    "shufflenet_v2": {
        (48, 51): 352_042, (116, 51): 1_263_854, (176, 51): 2_488_874, (224, 51): 5_338_026,
    },
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
        model = build(*network)
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
