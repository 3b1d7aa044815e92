"""What the paper's two studies compute: operations counted, GPU hours estimated from them.

python benchmarks/paper_cost.py

Every model of the two catalogues is built without memory for its weights (torch's `meta` device),
and the operations of one image's forward pass are counted by torch. A training step is taken for
three forward passes. Hours follow from a rate that a GPU sustains, which is an assumption and
stated beside them; decoding, transfers and start-ups are not counted.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from common import ROOT, write_results
from torch.utils.flop_counter import FlopCounterMode

from matcheval.models.building import build_model
from matcheval.models.packages import load_timm
from matcheval.study.catalogue import Model, read_catalogue

TRAIN_IMAGES = 50_000
# CIFAR-10, CIFAR-10.1, both parts of CIFAR-10.2, CINIC-10; ImageNet and three ImageNetV2.
TESTS = {"cifar10": 10_000 + 2_000 + 10_000 + 2_000 + 90_000, "imagenet": 50_000 + 3 * 10_000}
# 10¹² operations per second that a network sustains, as a rule of thumb: a sixth to a third of
# what data sheets give for an A100, 156 with TF32 and 312 in bfloat16.
RATES = {"fp32": 12.0, "tf32 or bf16": 50.0}


def main() -> None:
    """Count, and write a row per study, stage and architecture."""
    rows = []
    for study, forward in (("cifar10", _cifar), ("imagenet", _imagenet)):
        models = read_catalogue(ROOT / "studies" / f"{study}-models.csv")
        for stage, passes in _stages(study).items():
            per_group: dict[str, list[float]] = {}
            for group, name, operations in forward(models):
                recipe = models[name].recipe
                epochs = recipe.epochs if recipe and stage == "training" else 1
                per_group.setdefault(group, []).append(operations * passes * epochs)
            per_group = {"all": [v for values in per_group.values() for v in values]} | per_group
            rows += [_row(study, stage, group, values) for group, values in per_group.items()]
    write_results("paper_cost", rows, "torch", "timm")


def _stages(study: str) -> dict[str, int]:
    """Forward passes per epoch of training, and of inference."""
    training = {"training": 3 * TRAIN_IMAGES} if study == "cifar10" else {}
    return training | {"inference": TESTS[study]}


def _row(study: str, stage: str, group: str, operations: list[float]) -> dict[str, object]:
    total = math.fsum(operations)
    hours = {
        f"GPU hours at {rate:g} TFLOP/s ({precision})": round(total / (rate * 1e12) / 3600, 2)
        for precision, rate in RATES.items()
    }
    return {
        "study": study, "stage": stage, "models of": group, "models": len(operations),
        "PFLOP": round(total / 1e15, 1), **hours,
    }  # fmt: skip


def _cifar(models: Mapping[str, Model]) -> Iterator[tuple[str, str, float]]:
    counted: dict[tuple[object, ...], float] = {}
    for name, model in models.items():
        recipe = model.recipe
        assert recipe is not None, name
        size = (recipe.architecture, recipe.width, recipe.depth, recipe.groups)
        if size not in counted:
            with torch.device("meta"):
                network = build_model(
                    recipe.architecture, width=recipe.width, depth=recipe.depth,
                    groups=recipe.groups, input_shape=(32, 32, 3), n_classes=10,
                )  # fmt: skip
            counted[size] = _count(network, (3, 32, 32))
        yield recipe.architecture.split("_")[0], name, counted[size]


def _imagenet(models: Mapping[str, Model]) -> Iterator[tuple[str, str, float]]:
    timm = load_timm()
    for name, model in models.items():
        assert model.source is not None, name
        shape = timm.models.get_pretrained_cfg(model.source.source).input_size
        with torch.device("meta"):
            network = timm.create_model(model.source.source, pretrained=False)
        yield "all", name, _count(network, tuple(shape))


def _count(network: torch.nn.Module, shape: tuple[int, ...]) -> float:
    """Floating-point operations of one image's forward pass: two per multiplication."""
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        network.eval().requires_grad_(False)(torch.empty(1, *shape, device="meta"))
    return float(counter.get_total_flops())


if __name__ == "__main__":
    main()
