"""Steps of every training algorithm against a step of ERM, and ERM's against plain PyTorch.

    python benchmarks/algorithms.py
    python benchmarks/algorithms.py --device cuda
    python benchmarks/algorithms.py --photographs     # ResNet-18 at 224 x 224 on the CPU

Whole updates - forward, backward, optimiser - on batches that lie ready, 32 images of each of three
sets (8 of photographs on the CPU), after the burn-in where there is one: same network, optimiser
(Adam) and one thread. The plain step is what tutorials have: cross entropy of the joined batch,
`zero_grad`, `backward`, `step`.
Every round takes some steps of each side in turn; ratios are medians over the rounds of ratios
within a round. On the CPU, processor time is taken, which other work disturbs less.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from common import write_results

from matcheval.models.building import build_model
from matcheval.training.algorithm import Minibatch, Setup, concatenated
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import Recipe
from matcheval.training.run import build_algorithm

SETS, BATCH, CLASSES, ROUNDS, LEAST_SECONDS = 3, 32, 10, 15, 0.15
PHOTOGRAPHS, FEW, FEW_ROUNDS = "photographs", 8, 3  # batch and rounds of large networks on the CPU
RECIPE = Recipe(
    architecture="cnn", width=16, depth=2, loss="cross_entropy", loss_parameter=None,
    augmentation="none", schedule="constant", epochs=1, batch_size=BATCH, learning_rate=5e-5,
    weight_decay=0.0, train_fraction=1.0, seed=0, optimizer="adam",
)  # fmt: skip
# Architecture, width, depth and images; on small ones what is not the network weighs most.
NETWORKS = {
    "cpu": {
        "cnn, 8 x 8": ("cnn", 16, 2, (8, 8, 1)),
        "resnet-8, 32 x 32": ("resnet_a", 16, 8, (32, 32, 3)),
    },
    "cuda": {"resnet-18, 224 x 224": ("resnet_7x7", 64, 18, (224, 224, 3))},
    PHOTOGRAPHS: {"resnet-18, 224 x 224": ("resnet_7x7", 64, 18, (224, 224, 3))},
}
Step = Callable[[], object]


def minibatches(n: int, shape: tuple[int, int, int], device: str) -> list[Minibatch]:
    """A batch of n images of noise per set."""
    height, width, channels = shape
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(SETS, n, channels, height, width, generator=generator).to(device)
    targets = torch.eye(CLASSES, device=device)[torch.arange(n, device=device) % CLASSES]
    return [Minibatch(each, targets) for each in images]


def network(recipe: Recipe, shape: tuple[int, int, int], device: str) -> torch.nn.Module:
    """The same initial weights for every side."""
    torch.manual_seed(0)
    model = build_model(
        recipe.architecture, width=recipe.width, depth=recipe.depth, input_shape=shape,
        n_classes=CLASSES,
    )  # fmt: skip
    return model.to(device).train()


def plain(recipe: Recipe, shape: tuple[int, int, int], device: str) -> Step:
    """A plain step of cross entropy."""
    model = network(recipe, shape, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate)
    batches = minibatches(recipe.batch_size, shape, device)
    labels = concatenated(batches).targets.argmax(dim=1)

    def step() -> None:
        images = torch.cat([batch.images for batch in batches])
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def of_algorithm(name: str, recipe: Recipe, shape: tuple[int, int, int], device: str) -> Step:
    """An update of an algorithm, after its burn-in."""
    early = {"burn_in_steps": 0} if "burn_in_steps" in ALGORITHMS[name].model_fields else {}
    own = replace(recipe, algorithm=name, options=early)
    setup = Setup(SETS, torch.Generator().manual_seed(0))
    algorithm = build_algorithm(network(own, shape, device), own, setup).train()
    batches = minibatches(recipe.batch_size, shape, device)
    return lambda: algorithm.update(batches, 1.0)


def seconds(step: Step, n: int, device: str) -> float:
    """Seconds of some steps: of the processor, or until the GPU is done."""
    if device == "cpu":
        start = time.process_time()
        for _ in range(n):
            step()
        return time.process_time() - start
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def measured(label: str, group: str) -> list[dict[str, object]]:
    """A row per algorithm, on one network of a group."""
    device = "cuda" if group == "cuda" else "cpu"
    architecture, width, depth, shape = NETWORKS[group][label]
    few = group == PHOTOGRAPHS
    batch, n_rounds = (FEW, FEW_ROUNDS) if few else (BATCH, ROUNDS)
    recipe = replace(RECIPE, architecture=architecture, width=width, depth=depth, batch_size=batch)
    sides = {"plain PyTorch": plain(recipe, shape, device)}
    sides |= {name: of_algorithm(name, recipe, shape, device) for name in ALGORITHMS}
    least = 1 if few else 3
    for step in sides.values():
        seconds(step, least, device)
    n = max(least, round(LEAST_SECONDS / (seconds(sides["erm"], least, device) / least)))
    rounds = [
        {side: seconds(step, n, device) / n for side, step in sides.items()}
        for _ in range(n_rounds)
    ]
    rows = []
    for side in sides:
        relative = [each[side] / each["erm"] for each in rounds]
        if side == "erm":
            relative = [each["erm"] / each["plain PyTorch"] for each in rounds]
        rows.append(
            {
                "network": label,
                "side": side,
                "sets": SETS,
                "batch": batch,
                "rounds": n_rounds,
                "device": torch.cuda.get_device_name() if device == "cuda" else "cpu, 1 thread",
                "ms_per_step": round(1000 * statistics.median(r[side] for r in rounds), 3),
                "relative_to": "plain PyTorch" if side == "erm" else "erm",
                "ratio": round(statistics.median(relative), 3),
                "least_ratio": round(min(relative), 3),
                "largest_ratio": round(max(relative), 3),
            }
        )
    return rows


def main() -> None:
    """Measure on the device asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument(
        "--photographs", action="store_true", help="a large network on the CPU, with few steps"
    )
    given = parser.parse_args()
    group = PHOTOGRAPHS if given.photographs else given.device
    torch.set_num_threads(1)
    rows = [row for label in NETWORKS[group] for row in measured(label, group)]
    names = {"cpu": "algorithms", "cuda": "algorithms_gpu", PHOTOGRAPHS: "algorithms_photographs"}
    write_results(names[group], rows, "torch")


if __name__ == "__main__":
    main()
