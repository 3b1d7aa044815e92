"""The published networks: parameter counts, weights and random parts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from cifar import WEIGHTS, cifar, needs_cifar
from matcheval.models.architectures.resnet import SqueezeExcitation
from matcheval.models.architectures.shake_shake import ShakeBlock
from matcheval.models.arithmetic import normalize
from matcheval.models.building import build_model

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"


def build(architecture, width, depth, groups=1, channels=3):
    return build_model(
        architecture, width=width, depth=depth, groups=groups,
        input_shape=(32, 32, channels), n_classes=10,
    )  # fmt: skip


# Exact counts as published with reference implementations for CIFAR-10: K. Liu's pytorch-cifar (1),
# O. Sémery's pytorchcv (2), the description of the published weights (3). Millions: the papers.
@pytest.mark.parametrize(
    ("architecture", "size", "count", "millions"),
    [
        ("vgg", (64, 11), 9_231_114, None),  # 1
        ("vgg", (64, 16), 14_728_266, None),  # 1
        ("resnet_a", (16, 20), 269_722, 0.27),  # 3
        ("resnet_a", (16, 32), 464_154, 0.46),  # 3
        ("resnet_a", (16, 44), 658_586, 0.66),  # 3
        ("resnet_a", (16, 56), 853_018, 0.85),  # 3
        ("resnet_a", (16, 110), 1_727_962, 1.7),
        ("resnet_imagenet", (64, 18), 11_173_962, None),  # 1
        ("resnet_imagenet", (64, 34), 21_282_122, None),  # 1
        ("resnet_imagenet", (64, 50), 23_520_842, None),  # 1
        ("densenet", (12, 100), 769_162, 0.8),  # 2
        ("densenet", (24, 250), 15_324_406, 15.3),  # 2
        ("densenet", (40, 190), 25_624_430, 25.6),  # 2
        ("resnext", (64, 29, 8), 34_426_698, 34.4),
        ("resnext", (64, 29, 16), 68_155_210, None),  # 2; the paper truncates it to 68.1
        ("resnext", (4, 29, 32), 4_775_754, None),  # 2
        ("preact", (16, 110), 1_730_522, 1.7),  # 2
        ("preact_bottleneck", (16, 164), 1_703_258, 1.7),  # 2
        # 1 has 11,171,146, but not the last norm's 2 · 512 that the paper's figure 4e shows.
        ("preact_imagenet", (64, 18), 11_171_146 + 1024, None),
        ("shake_shake", (32, 26), 2_923_162, 2.9),  # 2
        ("shake_shake", (64, 26), None, 11.7),
        ("shake_shake", (96, 26), None, 26.2),
        ("pyramidnet", (48, 110), 1_772_706, None),  # 2; the paper's 1.7, 3.8 and
        ("pyramidnet", (84, 110), 3_904_446, None),  # 2  28.3 leave out some
        ("pyramidnet", (270, 110), 28_485_477, None),  # 2
        # 2 has 274,847 with projections (option B), which are 2,752.
        ("seresnet_a", (16, 20), 274_847 - 2_752, None),
    ],
)
def test_published_parameter_counts(architecture, size, count, millions):
    with torch.device("meta"):
        model = build(architecture, *size)
        assert model.eval()(torch.empty(3, 3, 32, 32)).shape == (3, 10)
    found = sum(p.numel() for p in model.parameters())
    assert count is None or found == count
    if millions is not None:
        digits = len(str(millions).split(".")[1])
        assert round(found / 1e6, digits) == millions


def test_squeeze_and_excitation_adds_the_published_number_of_parameters():
    """Section 3: 2 / r Σ N_s C_s² weights, here with their biases."""
    plain, squeezed = (
        sum(p.numel() for p in build(name, 64, 18).parameters())
        for name in ("resnet_imagenet", "seresnet_imagenet")
    )
    weights = 2 / 16 * sum(2 * c**2 for c in (64, 128, 256, 512))
    biases = sum(2 * (c + c / 16) for c in (64, 128, 256, 512))
    assert squeezed - plain == weights + biases


def test_squeeze_and_excitation_weighs_channels():
    torch.manual_seed(0)
    module = SqueezeExcitation(8, reduction=4)
    x = torch.rand(2, 8, 3, 3)
    ratio = module(x) / x
    assert torch.allclose(ratio, ratio[:, :, :1, :1].expand_as(x))
    assert 0 < ratio.min() < ratio.max() < 1


@needs_cifar
@pytest.mark.parametrize("depth", [20, 32, 44, 56])
def test_published_weights_classify_as_published(depth):
    """All 10,000 images give 91.73 to 93.39 %; 500 of them the same within chance (± 3 %)."""
    test = cifar("test", 500)
    model = build("resnet_a", 16, depth)
    model.load_state_dict(load_file(WEIGHTS / f"resnet{depth}.safetensors"))
    images = torch.from_numpy(test.images).permute(0, 3, 1, 2) / test.max_value
    images = normalize(images, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    with torch.inference_mode():
        predicted = model.eval()(images).argmax(dim=1).numpy()
    assert np.mean(predicted == test.labels) > 0.89


class TestShakeShake:
    def block(self, inputs=4, outputs=4, stride=1):
        torch.manual_seed(0)
        block = ShakeBlock(inputs, outputs, stride)
        # Linear branches, so that the mixture has a simple gradient.
        block.first = nn.Conv2d(inputs, outputs, 1, bias=False)
        block.second = nn.Conv2d(inputs, outputs, 1, bias=False)
        block.noise = torch.Generator().manual_seed(1)
        return block

    def test_mixes_each_image_with_separate_noise_forward_and_backward(self):
        block = self.block()
        x = torch.rand(5, 4, 3, 3)
        out = block.train()(x)
        drawn = torch.rand(2, 5, 1, 1, 1, generator=torch.Generator().manual_seed(1))
        forward, backward = drawn
        f, g = block.first(x), block.second(x)
        assert torch.allclose(out, x + forward * f + (1 - forward) * g, atol=1e-6)
        out.sum().backward()
        sums = (backward * x.sum(dim=(2, 3), keepdim=True)).sum(dim=0).flatten()
        assert torch.allclose(block.first.weight.grad[0].flatten(), sums, atol=1e-5)
        sums = ((1 - backward) * x.sum(dim=(2, 3), keepdim=True)).sum(dim=0).flatten()
        assert torch.allclose(block.second.weight.grad[0].flatten(), sums, atol=1e-5)
        assert not torch.allclose(forward, backward)

    def test_is_even_in_evaluation(self):
        block = self.block().eval()
        x = torch.rand(5, 4, 3, 3)
        assert torch.allclose(block(x), x + (block.first(x) + block.second(x)) / 2, atol=1e-6)

    def test_the_global_generator_is_not_used(self):
        block, state = self.block().train(), torch.random.get_rng_state()
        block(torch.rand(5, 4, 3, 3, generator=torch.Generator()))
        assert torch.equal(torch.random.get_rng_state(), state)


def test_option_a_shortcuts_subsample_and_pad_evenly():
    model = build("resnet_a", 4, 8)
    block = model.layer2[0]
    nn.init.zeros_(block.bn2.weight)  # leaves relu(shortcut)
    x = torch.rand(2, 4, 6, 6)
    out = block.eval()(x)
    assert torch.equal(out[:, 2:6], x[:, :, ::2, ::2])
    assert not out[:, :2].any()
    assert not out[:, 6:].any()


def test_pyramid_channels_grow_evenly():
    model = build("pyramidnet", 48, 110)
    widths = [m.out_channels for m in model.modules() if isinstance(m, nn.Conv2d)][2::2]
    assert (widths[0], widths[-1], len(widths)) == (17, 64, 54)
    assert set(np.diff(widths)) == {0, 1}


def test_small_networks_import_neither_torchvision_nor_timm():
    code = (
        "import sys; import matcheval.training.loop;"
        "from matcheval.models.building import build_model;"
        "build_model('resnet', width=4, depth=2, input_shape=(8, 8, 1), n_classes=10);"
        "assert not {'torchvision', 'timm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(SCRIPTS)})
