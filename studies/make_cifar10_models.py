"""Write `cifar10-models.csv`: 278 recipes that span Table 2 of the paper.

    .venv/bin/python studies/make_cifar10_models.py

The paper lists architectures, losses, augmentations and that schedules and seeds vary; it does not
list its 278 models. These are as many: the published networks by their papers' recipes with two
seeds, or three of each family's first; then around that first network one thing changed at a time,
then two, and around the family's second network three losses. The file is committed and may be
edited by hand for your own study; a test compares it with this script.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

COLUMNS = (
    "name", "kind", "family", "architecture", "width", "depth", "groups", "loss", "loss_parameter",
    "augmentation", "augmentation_parameter", "schedule", "warmup_epochs", "epochs", "batch_size",
    "learning_rate", "nesterov", "weight_decay", "weight_decay_on", "normalization", "ema_decay",
    "train_fraction", "seed", "note",
)  # fmt: skip
COMMON = {
    "kind": "trained", "groups": 1, "loss": "cross_entropy", "augmentation": "basic",
    "schedule": "step", "epochs": 200, "batch_size": 128, "learning_rate": 0.1, "nesterov": "true",
    "weight_decay": 0.0005, "weight_decay_on": "all", "normalization": "channels",
    "train_fraction": 1, "seed": 0,
}  # fmt: skip

# Published recipes that are not kept in full, by family.
_SHORTENED = {
    "Shake-Shake (Gastaldi 2017)": ", but for 600 of the 1,800 epochs, a third of the cost",
}
# By family: what its networks share, and each one's size. Of the first the variants are made.
FAMILIES: dict[str, tuple[dict[str, object], dict[str, dict[str, object]]]] = {
    "VGG (Simonyan & Zisserman 2015, with batch norm)": (
        {"architecture": "vgg", "width": 64, "learning_rate": 0.05, "nesterov": "false"},
        {f"vgg-{depth}": {"depth": depth} for depth in (16, 11, 13, 19)},
    ),
    "ResNet (He et al. 2016)": (
        {"architecture": "resnet_a", "width": 16, "weight_decay": 0.0001, "nesterov": "false"},
        {f"resnet-{depth}": {"depth": depth} for depth in (56, 20, 32, 44)}
        | {"resnet-110": {"depth": 110, "warmup_epochs": 1}}
        | {
            f"resnet-{depth}": {
                "architecture": "resnet_imagenet", "width": 64, "depth": depth,
                "weight_decay": 0.0005, "nesterov": "true",
            }
            for depth in (18, 34, 50)
        },
    ),
    "DenseNet-BC (Huang et al. 2017)": (
        {"architecture": "densenet", "epochs": 300, "batch_size": 64, "weight_decay": 0.0001},
        {
            f"densenet-{depth}-{growth}": {"depth": depth, "width": growth}
            for depth, growth in ((100, 12), (250, 24), (190, 40))
        },
    ),
    "ResNeXt (Xie et al. 2017)": (
        {"architecture": "resnext", "width": 64, "depth": 29, "epochs": 300},
        {f"resnext-29-{groups}x64d": {"groups": groups} for groups in (4, 8)},
    ),
    "pre-activation ResNet (He et al. 2016b)": (
        {"architecture": "preact", "width": 16, "weight_decay": 0.0001, "warmup_epochs": 1},
        {
            "preact-110": {"depth": 110},
            "preact-164": {"architecture": "preact_bottleneck", "depth": 164},
            "preact-18": {
                "architecture": "preact_imagenet", "width": 64, "depth": 18,
                "weight_decay": 0.0005, "warmup_epochs": "",
            },
        },
    ),
    "Shake-Shake (Gastaldi 2017)": (
        {
            "architecture": "shake_shake", "depth": 26, "schedule": "cosine", "epochs": 600,
            "learning_rate": 0.2, "weight_decay": 0.0001,
        },
        {f"shake-shake-26-2x{width}d": {"width": width} for width in (32, 64, 96)},
    ),
    "PyramidNet (Han et al. 2017)": (
        {"architecture": "pyramidnet", "depth": 110, "epochs": 300, "weight_decay": 0.0001},
        {f"pyramidnet-110-a{alpha}": {"width": alpha} for alpha in (48, 84, 270)},
    ),
    "SENet (Hu et al. 2018)": (
        {"architecture": "seresnet_imagenet", "width": 64},
        {f"se-resnet-{depth}": {"depth": depth} for depth in (18, 34, 50)}
        | {
            "se-resnet-110": {
                "architecture": "seresnet_a", "width": 16, "depth": 110, "weight_decay": 0.0001,
                "warmup_epochs": 1,
            }
        },
    ),
}  # fmt: skip

LOSSES = (
    ("focal-1", {"loss": "focal", "loss_parameter": 1}, "focal loss, γ = 1"),
    ("focal-2", {"loss": "focal", "loss_parameter": 2}, "focal loss, γ = 2"),
    ("focal-3", {"loss": "focal", "loss_parameter": 3}, "focal loss, γ = 3"),
    ("flsd", {"loss": "focal_sample_dependent"}, "sample-dependent focal loss (FLSD-53)"),
    ("brier", {"loss": "brier"}, "Brier loss"),
    ("mmce", {"loss": "mmce_mukhoti"}, "cross entropy with MMCE"),
    ("mmce-w", {"loss": "mmce_weighted_mukhoti"}, "cross entropy with weighted MMCE"),
    ("smooth-05", {"loss": "label_smoothing", "loss_parameter": 0.05}, "label smoothing, 0.05"),
    ("smooth-10", {"loss": "label_smoothing", "loss_parameter": 0.1}, "label smoothing, 0.1"),
)
AUGMENTATIONS = (
    ("plain", {"augmentation": "none"}, "no augmentation: overfits, hence overconfident"),
    ("cutmix", {"augmentation": "basic_cutmix"}, "CutMix"),
    ("mixup", {"augmentation": "basic_mixup"}, "MixUp, α = 1"),
    (
        "mixup-02",
        {"augmentation": "basic_mixup", "augmentation_parameter": 0.2},
        "MixUp, α = 0.2",
    ),
    ("ricap", {"augmentation": "basic_ricap"}, "RICAP"),
)
SCHEDULES = (
    ("constant", {"schedule": "constant", "learning_rate": 0.01}, "a constant learning rate"),
    ("cosine", {"schedule": "cosine"}, "cosine schedule"),
    ("stepwise", {"schedule": "step"}, "the rate falls to a tenth at 50 and 75 %"),
    ("multistep", {"schedule": "multistep"}, "the rate falls to a fifth at 30, 60 and 80 %"),
    ("onecycle", {"schedule": "onecycle", "epochs": 50, "warmup_epochs": ""}, "one cycle, short"),
)
BOTH = (
    ("cutmix", "smooth-10"),
    ("mixup", "focal-2"),
    ("ricap", "brier"),
    ("mixup", "mmce-w"),
)
# The losses of a family's second network.
SECOND_LOSSES = ("flsd", "mmce-w", "smooth-05")
# What makes weaker, better or otherwise different models; the study needs a spread of accuracies.
SINGLES = (
    ("resnet-20", "w8", {"width": 8}, "half as wide: the low end of accuracy"),
    ("resnet-20", "w32", {"width": 32}, "twice as wide"),
    ("resnet-20", "tenth", {"train_fraction": 0.1}, "learns from 5,000 images"),
    ("resnet-20", "half", {"train_fraction": 0.5}, "learns from 25,000 images"),
    ("vgg-11", "short", {"epochs": 10}, "10 epochs: underfits"),
    ("resnet-18", "short", {"epochs": 30, "schedule": "onecycle"}, "30 epochs of one cycle"),
    ("resnet-18", "ema", {"ema_decay": 0.999}, "moving average of the weights"),
    ("preact-18", "ema", {"ema_decay": 0.999}, "moving average of the weights"),
    ("resnet-18", "no-decay", {"weight_decay": 0}, "no weight decay"),
    ("se-resnet-18", "decay-weights", {"weight_decay_on": "weights"}, "no decay of norms, biases"),
)


def rows() -> Iterator[dict[str, object]]:
    """All rows, in order."""
    networks = {
        name: COMMON | shared | size | {"family": family.split(" (")[0]}
        for family, (shared, sizes) in FAMILIES.items()
        for name, size in sizes.items()
    }
    for family, (_, sizes) in FAMILIES.items():
        recipe = f"by its recipe{_SHORTENED.get(family, '')}"
        for place, name in enumerate(sizes):
            for seed in range(2 if place else 3):
                note = f"{family}: {name} {recipe}, seed {seed}"
                yield networks[name] | {"name": f"{name}-s{seed}", "seed": seed, "note": note}
    changes = {key: (values, why) for key, values, why in (*LOSSES, *AUGMENTATIONS, *SCHEDULES)}
    for family, (_, sizes) in FAMILIES.items():
        name, second, *_ = sizes
        for key, (values, why) in changes.items():
            if values.get("schedule") != networks[name]["schedule"]:
                yield (
                    networks[name] | values | {"name": f"{name}-{key}", "note": f"{family}: {why}"}
                )
        for pair in BOTH:
            values = changes[pair[0]][0] | changes[pair[1]][0]
            why = f"{changes[pair[0]][1]} together with {changes[pair[1]][1]}"
            full = f"{name}-{pair[0]}-{pair[1]}"
            yield networks[name] | values | {"name": full, "note": f"{family}: {why}"}
        for key in SECOND_LOSSES:
            values, why = changes[key]
            yield (
                networks[second] | values | {"name": f"{second}-{key}", "note": f"{family}: {why}"}
            )
    for name, key, values, why in SINGLES:
        yield networks[name] | values | {"name": f"{name}-{key}", "note": why}


def main() -> None:
    """Write the catalogue beside this script."""
    with Path(__file__).with_name("cifar10-models.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())


if __name__ == "__main__":
    main()
