"""Write `cifar10-warehouse-models.csv` and `cifar10-warehouse-sets.csv`: CIFAR-10-Warehouse.

    .venv/bin/python studies/make_warehouse.py

The models are those of Sun et al. (2024), Table 5: 35 architectures of github
kuangliu/pytorch-cifar with the seeds 0 and 42, in the order of the table, whose first 20
architectures are the paper's "40 classifiers"; and the four networks whose results the paper gives
singly, with published weights.

The sets are its 180 test sets, in the order of Table 6. The paper shows their colours only in an
image, and the download numbers them: sets of search engines have a number, and an empty cell for
the colour. A test compares the files with this script.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

COLUMNS = (
    "name", "kind", "source", "architecture", "width", "depth", "groups", "loss", "loss_parameter",
    "augmentation", "schedule", "epochs", "batch_size", "learning_rate", "nesterov", "weight_decay",
    "normalization", "train_fraction", "seed", "note",
)  # fmt: skip
# The learning rate is the paper's; the rest is the recipe of pytorch-cifar.
RECIPE = {
    "kind": "trained", "loss": "cross_entropy", "augmentation": "basic", "schedule": "cosine",
    "epochs": 200, "batch_size": 128, "learning_rate": 0.01, "nesterov": "false",
    "weight_decay": 0.0005, "normalization": "channels", "train_fraction": 1,
}  # fmt: skip

# By name in pytorch-cifar: architecture, width, depth and groups.
ARCHITECTURES = {
    "DPN26": ("dpn", 96, 26, 32),
    "DPN92": ("dpn", 96, 92, 32),
    "DenseNet121": ("densenet_imagenet", 32, 121, 1),
    "DenseNet169": ("densenet_imagenet", 32, 169, 1),
    "EfficientNetB0": ("efficientnet", 32, 49, 1),
    "GoogLeNet": ("googlenet", 192, 29, 1),
    "MobileNetV2": ("mobilenet_v2", 32, 54, 1),
    "MobileNet": ("mobilenet", 32, 28, 1),
    "PNASNetA": ("pnasnet_a", 44, 22, 1),
    "PNASNetB": ("pnasnet_b", 32, 42, 1),
    "PreActResNet18": ("preact_unnormed", 64, 18, 1),
    "PreActResNet34": ("preact_unnormed", 64, 34, 1),
    "PreActResNet50": ("preact_unnormed", 64, 50, 1),
    "PreActResNet101": ("preact_unnormed", 64, 101, 1),
    "RegNetX_200MF": ("regnet_x", 24, 41, 1),
    "RegNetX_400MF": ("regnet_x", 32, 68, 1),
    "RegNetY_400MF": ("regnet_y", 32, 68, 1),
    "ResNeXt29_2x64d": ("resnext_doubling", 64, 29, 2),
    "ResNeXt29_32x4d": ("resnext_doubling", 4, 29, 32),
    "ResNeXt29_4x64d": ("resnext_doubling", 64, 29, 4),
    "ResNet18": ("resnet_imagenet", 64, 18, 1),
    "ResNet34": ("resnet_imagenet", 64, 34, 1),
    "ResNet50": ("resnet_imagenet", 64, 50, 1),
    "ResNet101": ("resnet_imagenet", 64, 101, 1),
    "SENet18": ("sepreact_unnormed", 64, 18, 1),
    "ShuffleNetG2": ("shufflenet", 200, 50, 2),
    "ShuffleNetG3": ("shufflenet", 240, 50, 3),
    "ShuffleNetV2_0.5": ("shufflenet_v2", 48, 51, 1),
    "ShuffleNetV2_1": ("shufflenet_v2", 116, 51, 1),
    "ShuffleNetV2_1.5": ("shufflenet_v2", 176, 51, 1),
    "ShuffleNetV2_2": ("shufflenet_v2", 224, 51, 1),
    "VGG11": ("vgg", 64, 11, 1),
    "VGG13": ("vgg", 64, 13, 1),
    "VGG16": ("vgg", 64, 16, 1),
    "VGG19": ("vgg", 64, 19, 1),
}
SEEDS = (0, 42)

# Published by github chenyaofo/pytorch-cifar-models: file, architecture, width and depth.
SINGLE = {
    "ResNet44": ("cifar10_resnet44", "resnet_b", 16, 44),
    "RepVGG-A0": ("cifar10_repvgg_a0", "repvgg", 48, 23),
    "ShuffleNetV2": ("cifar10_shufflenetv2_x0_5", "shufflenet_v2", 48, 51),
    "VGG13": ("cifar10_vgg13_bn", "vgg_three_linear", 64, 13),
}


def rows() -> Iterator[dict[str, object]]:
    """All rows, in order."""
    for name, (architecture, width, depth, groups) in ARCHITECTURES.items():
        for seed in SEEDS:
            yield RECIPE | {
                "name": f"{name}-s{seed}", "architecture": architecture, "width": width,
                "depth": depth, "groups": groups, "seed": seed,
                "note": f"{name} of pytorch-cifar, seed {seed}",
            }  # fmt: skip
    for name, (file, architecture, width, depth) in SINGLE.items():
        yield {
            "name": f"{name}-published", "kind": "checkpoint", "architecture": architecture,
            "source": f"data/cifar10-warehouse/weights/{file}.safetensors", "width": width,
            "depth": depth, "normalization": "cifar10_per_image",
            "note": "published weights of github chenyaofo/pytorch-cifar-models",
        }  # fmt: skip


SET_COLUMNS = (
    "name", "group", "subgroup", "engine", "colour", "cartoon", "path", "note",
)  # fmt: skip
# By subgroup: engine and number of sets, one for each colour.
ENGINES = {
    "Goog": ("google", 12),
    "Bing": ("bing", 12),
    "Baid": ("baidu", 12),
    "360": ("360", 12),
    "Sogo": ("sogou", 12),
    "Flic": ("flickr", 15),
    "Pexe": ("pexels", 20),
}
CARTOON_ENGINES = ("Goog", "Bing", "Baid", "360")
DIFFUSION = "stable-diffusion-2-1"
HARD = {
    "cage": "photo of {class} in a cage",
    "table": "photo of {class} on a table",
    "box": "photo of {class} painted on a box",
    "t-shirt": "photo of {class} painted on a t-shirt",
    "sketch": "sketch of {class}",
    "messy-background": "photo of {class} with messy background",
    "toy": "photo of toy model of {class}",
    "3d": "photo of 3D model of {class}",
    "origami": "photo of origami of {class}",
    "sculpture": "photo of sculpture of {class}",
    "lego": "photo of lego model of {class}",
    "wooden": "photo of wooden model of {class}",
    "oil-painting": "oil painting of {class}",
}


def sets() -> Iterator[dict[str, object]]:
    """The rows of all sets, in order."""
    for key, prompt in HARD.items():
        yield _set("DF", "DF.h", key, DIFFUSION, "no", prompt)
    for subgroup, cartoon in (("DF.c", "yes"), ("DF.v", "no")):
        for number in range(1, 13):
            yield _set("DF", subgroup, f"{number:02d}", DIFFUSION, cartoon)
    for group, subgroups, cartoon in (("KW", ENGINES, "no"), ("KWC", CARTOON_ENGINES, "yes")):
        for subgroup in subgroups:
            engine, count = ENGINES[subgroup]
            for number in range(1, count + 1):
                yield _set(group, subgroup, f"{number:02d}", engine, cartoon)


def _set(
    group: str, subgroup: str, key: str, engine: str, cartoon: str, note: str = ""
) -> dict[str, object]:
    folder = f"{group}-{subgroup}" if group != "DF" else subgroup
    return {
        "name": f"{folder}-{key}", "group": group, "subgroup": subgroup, "engine": engine,
        "cartoon": cartoon, "path": f"data/cifar10-warehouse/{folder}/{key}", "note": note,
    }  # fmt: skip


def main() -> None:
    """Write both files beside this script."""
    for name, columns, lines in (("models", COLUMNS, rows()), ("sets", SET_COLUMNS, sets())):
        path = Path(__file__).with_name(f"cifar10-warehouse-{name}.csv")
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
