"""Golden fingerprints: results of everything that expensive stages are made of, on tiny inputs.

    python tests/fingerprints.py

Training, inference and datasets are not repeated when the library is edited, but when somebody
raises the version of the stage. `tests/unit/test_fingerprints.py` compares the results with those
in `tests/data/fingerprints.json`, so that a changed result cannot slip; this command writes the
file anew, and refuses to where a result has changed and its version has not. With --same-version
it does so all the same, for changes of this file or of results that nobody can have.

A fingerprint has, of each array of numbers, mean, standard deviation and projections on fixed
directions, and a digest of what is text. Numbers are compared with a tolerance, as processors and
versions of torch differ in the last bits. Mixed precision has none for that reason.
"""

import argparse
import hashlib
import io
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from image_sets import cifar10_tar, encode, npy, npz, prepare, tar
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.derivations import DERIVATION_VERSION, Derivation, part, rest, union
from matcheval.datasets.derivations import KINDS as DERIVATIONS
from matcheval.datasets.derived import derive
from matcheval.datasets.kinds import KINDS
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.inference import INFERENCE_VERSION
from matcheval.models.building import build_model
from matcheval.models.geometry import INTERPOLATIONS, Geometry
from matcheval.models.sizes import ARCHITECTURES
from matcheval.models.transforms import NORMALIZATIONS, Transform
from matcheval.training import AUGMENTATIONS, DECAYED, LOSSES, SCHEDULES, TRAINING_VERSION
from matcheval.training import NORMALIZATIONS as TRAINING_NORMALIZATIONS
from matcheval.training.augmentation import augment
from matcheval.training.loop import train
from matcheval.training.losses import build_loss
from matcheval.training.options import ALGORITHMS, OPTIMIZERS
from matcheval.training.parameters import LOSS_PARAMETERS
from matcheval.training.recipe import Recipe
from matcheval.training.schedules import learning_rate_factor

FILE = Path(__file__).parent / "data" / "fingerprints.json"
TOLERANCE = 1e-4  # of the root mean square of an array
_PROJECTIONS = 3

Fingerprint = dict[str, Any]


def fingerprint(arrays: Iterable[Any], text: object = "") -> Fingerprint:
    """The statistics of arrays, and the digest of a text."""
    return {
        "numbers": [_statistics(np.asarray(array, np.float64).ravel()) for array in arrays],
        "text": hashlib.sha256(repr(text).encode()).hexdigest()[:16],
    }


def _statistics(values: np.ndarray) -> list[float]:
    """Root mean square, mean, standard deviation, and projections on incommensurable waves."""
    n = len(values)
    waves = (np.cos(np.arange(n) * math.sqrt(2 + k) + k) for k in range(_PROJECTIONS))
    found = [np.sqrt(np.mean(values**2)), values.mean(), values.std()]
    found += [(values * wave).sum() / math.sqrt(n) for wave in waves]
    return [float(f"{value:.8g}") for value in found]


def differs(one: Fingerprint, other: Fingerprint, tolerance: float = TOLERANCE) -> bool:
    """Whether two fingerprints differ by more than last bits."""
    if one["text"] != other["text"] or len(one["numbers"]) != len(other["numbers"]):
        return True
    return any(
        not np.allclose(ours, theirs, rtol=0, atol=tolerance * max(theirs[0], 1e-3))
        for ours, theirs in zip(one["numbers"], other["numbers"], strict=True)
    )


def pixels(*shape: int) -> np.ndarray:
    """Bytes without pattern, the same on every machine and with every version of NumPy."""
    n = np.arange(math.prod(shape), dtype=np.int64)
    return ((n * n * 7919 + n * 104729) // 97 % 251).astype(np.uint8).reshape(shape)


def _batch(n: int, side: int, channels: int = 3) -> torch.Tensor:
    return torch.from_numpy(pixels(n, channels, side, side)).float() / 255


# --- training

# Smallest members: width, depth, groups, side of the images.
SIZES = {
    "linear": (0, 0, 1, 8), "mlp": (5, 2, 1, 8), "cnn": (4, 2, 1, 8), "resnet": (4, 2, 1, 8),
    "vgg": (4, 11, 1, 32), "resnet_a": (4, 8, 1, 16), "resnet_imagenet": (4, 18, 1, 16),
    "densenet": (4, 16, 1, 16), "resnext": (4, 11, 2, 16), "preact": (4, 8, 1, 16),
    "preact_bottleneck": (4, 11, 1, 16), "preact_imagenet": (4, 18, 1, 16),
    "shake_shake": (4, 8, 1, 16), "pyramidnet": (6, 8, 1, 16), "seresnet_a": (4, 8, 1, 16),
    "seresnet_imagenet": (8, 18, 1, 16),
}  # fmt: skip


def of_architecture(name: str) -> Fingerprint:
    """Initial weights, logits in evaluation and in training, and gradients."""
    width, depth, groups, side = SIZES[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = build_model(
            name, width=width, depth=depth, groups=groups, input_shape=(side, side, 3), n_classes=5
        )
        images = _batch(6, side)
        weights = torch.cat([p.detach().flatten() for p in model.parameters()])
        evaluated = model.eval()(images).detach()
        logits = model.train()(images)
    # A loss of which the gradient in front of a normalisation is not 0.
    (logits * torch.cos(torch.arange(30.0)).reshape(6, 5)).sum().backward()
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    after = model.eval()(images).detach()  # with the statistics of batch norm after one batch
    return fingerprint(
        [weights, evaluated, logits.detach(), gradients, after],
        [(key, tuple(value.shape)) for key, value in model.state_dict().items()],
    )


def of_loss(name: str) -> Fingerprint:
    """Values and gradients, with the default and another parameter.

    For hard and soft targets, and for logits that are calibrated.
    """
    found: list[Any] = []
    soft = torch.softmax(_batch(1, 8)[0, 0] * 4, dim=1)
    hard = torch.eye(8)[torch.arange(8) * 3 % 8]
    guess = 6 * _batch(1, 8)[0, 1] - 2
    # As certain as the targets of the predicted class, with the other classes in another order.
    calibrated = torch.stack(
        [torch.cat([row.max()[None], row.sort().values[:-1]]) for row in soft]
    ).log()
    sorted_targets = soft.sort(dim=1, descending=True).values
    for targets, given in ((hard, guess), (soft, guess), (sorted_targets, calibrated)):
        for parameter in (None, 0.7) if name in LOSS_PARAMETERS else (None,):
            logits = given.clone().requires_grad_()
            value = build_loss(name, parameter)(logits, targets)
            value.backward()
            found += [value.detach(), logits.grad]
    return fingerprint(found)


def of_augmentation(name: str) -> Fingerprint:
    """Forty batches of six images, with the targets: enough for probabilities to show."""
    batches = [
        augment(name, _batch(6, 12), torch.eye(6), torch.Generator().manual_seed(seed))
        for seed in range(40)
    ]
    return fingerprint(torch.cat(part) for part in zip(*batches, strict=True))


def of_schedule(name: str) -> Fingerprint:
    """Factors of a training of 50 steps, also with a warm-up."""
    return fingerprint(
        [learning_rate_factor(name, step, 50, warm) for step in range(50)] for warm in (0, 7)
    )


def _sets() -> tuple[list[Dataset], Dataset]:
    def one(name: str, n: int, skip: int) -> Dataset:
        return make_dataset(
            name, pixels(skip + n, 8, 8, 3)[skip:], np.arange(n) * 7 % 5, classes=tuple("abcde"),
            max_value=255, source="",
        )  # fmt: skip

    return [one("first", 40, 0), one("second", 14, 40)], one("validation", 20, 60)


_RECIPE = Recipe(
    architecture="linear", width=0, depth=0, loss="cross_entropy", loss_parameter=None,
    augmentation="shift", schedule="cosine", epochs=3, batch_size=8, learning_rate=0.02,
    weight_decay=0.1, train_fraction=0.8, seed=3, clip_norm=5.0, warmup_epochs=0.5,
)  # fmt: skip


def _trained(recipe: Recipe) -> Fingerprint:
    (first, second), validation = _sets()
    runs = [train("m", recipe, sets, validation) for sets in ([first], [first, second])]
    return fingerprint(
        array
        for run in runs
        for array in (
            np.concatenate([run.state[key].double().flatten() for key in sorted(run.state)]),
            [(e.learning_rate, e.train_loss, e.validation_loss) for e in run.history],
            run.mean + run.std,
        )
    )


def of_algorithm(name: str) -> Fingerprint:
    """Trainings on one and on two sets: order, subset, batches, moving average, history."""
    recipe = replace(
        _RECIPE, architecture="resnet", width=4, depth=1, algorithm=name, ema_decay=0.5,
        normalization="channels",
    )  # fmt: skip
    return _trained(recipe)


def of_optimizer(name: str) -> Fingerprint:
    """Trainings with the default options."""
    return _trained(replace(_RECIPE, optimizer=name))


def of_decay(name: str) -> Fingerprint:
    """Trainings with weight decay on all or some parameters."""
    return _trained(replace(_RECIPE, architecture="mlp", width=4, depth=1, weight_decay_on=name))


def of_training_normalization(name: str) -> Fingerprint:
    """Trainings with a normalisation."""
    return _trained(replace(_RECIPE, normalization=name))


# --- datasets


def of_derivation(name: str) -> Fingerprint:
    """A derived set of pixel arrays."""
    (first, second), _ = _sets()
    options = {"per_set": 10, "test_fraction": 0.5, "seed": 2}
    derivations = {
        "part": [part("first", 2, 3, 5)],
        "rest": [rest("first", 2, 3, 5)],
        "union": [union("first", "second")],
        "origins": [
            Derivation("origins", ("first", "second"), {**options, "role": role})
            for role in ("train", "test")
        ],
    }[name]
    sources = {"first": first, "second": second}
    return _of_datasets(derive(d, [sources[one] for one in d.of]) for d in derivations)


def _of_datasets(datasets: Iterable[Dataset]) -> Fingerprint:
    arrays, text = [], []
    for dataset in datasets:
        if dataset.stored == "files":
            images = [np.asarray(dataset.image(i)).ravel() for i in range(len(dataset))]
            arrays.append(np.concatenate(images))
        else:
            arrays.append(np.asarray(dataset.pixels))
        arrays.append(dataset.labels)
        text.append((dataset.stored, dataset.max_value, dataset.classes, dataset.names))
    return fingerprint(arrays, text)


_WNIDS = imagenet_classes()
_N = 30
_IMAGES, _LABELS = pixels(_N, 32, 32, 3), np.arange(_N) * 7 % 10
# Classes of 1,000 images, numbered in another order than the classes.
_ORDER = np.argsort(np.arange(1000) * 367 % 1000)
_TINY = pixels(1000, 4, 5, 3)

Files = Mapping[str, bytes]
_Case = tuple[dict[str, Any], Files]  # options, and files by path: published ones, or one's own


def _cinic10() -> Files:
    files = {
        f"./{part}/{CIFAR10[label]}/n{i:04d}.png": encode(_IMAGES[i])
        for i, label in enumerate(_LABELS)
        for part in ("test", "train")
    }
    return {"CINIC-10.tar.gz": tar(files, "w:gz")}


def _cifar10_c() -> Files:
    arrays = {f"CIFAR-10-C/{name}.npy": npy(pixels(5 * _N, 32, 32, 3)) for name in ("fog", "snow")}
    return {"CIFAR-10-C.tar": tar(arrays | {"CIFAR-10-C/labels.npy": npy(np.tile(_LABELS, 5))})}


def _validation_images() -> dict[str, bytes]:
    return {f"ILSVRC2012_val_{i:08d}.JPEG": encode(_TINY[i - 1]) for i in range(1, 1001)}


def _devkit() -> dict[str, bytes]:
    own = np.argsort(np.arange(1000) * 211 % 1000)  # label of class number 1, 2, ...
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("num_children", "O")]
    rows = [(i, _WNIDS[label], 0) for i, label in enumerate(own, start=1)]
    file = io.BytesIO()
    savemat(file, {"synsets": np.array(rows, dtype=kinds).reshape(-1, 1)})
    truth = "".join(f"{np.flatnonzero(own == label)[0] + 1}\n" for label in _ORDER)
    return {
        "kit/data/meta.mat": file.getvalue(),
        "kit/data/ILSVRC2012_validation_ground_truth.txt": truth.encode(),
    }


def _imagenet(folder: Path) -> list[_Case]:
    flat = _validation_images()
    sorted_in = {
        f"val/{_WNIDS[label]}/{name}": data
        for label, (name, data) in zip(_ORDER, flat.items(), strict=True)
    }
    _write(folder / "sorted", sorted_in)
    _write(folder / "flat", flat)
    _write(folder / "kit", _devkit())
    return [
        ({"source": str(folder / "sorted"), "per_class": 1}, {}),
        ({"source": str(folder / "flat"), "devkit": str(folder / "kit")}, {}),
    ]


def _imagenetv2() -> Files:
    folders = {f"top/{label}/{i}.png": encode(_TINY[i]) for i, label in enumerate(_ORDER)}
    return {
        f"imagenetv2-{name}.tar.gz": tar(folders)
        for name in ("matched-frequency", "threshold0.7", "top-images")
    }


def _own_files(folder: Path) -> None:
    modes = ("RGB", "L", "RGBA", "P")  # how images that are not RGB become RGB
    images = [Image.fromarray(image).convert(modes[i % 4]) for i, image in enumerate(_IMAGES)]
    data = []
    for i, image in enumerate(images):
        path = folder / "set" / f"class-{_LABELS[i]}" / f"{i % 3}" / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path)
        data.append(path.read_bytes())
    rows = {"image": [{"bytes": each} for each in data], "label": _LABELS.tolist()}
    for i, table in enumerate((pa.table(rows)[:20], pa.table(rows)[20:])):
        pq.write_table(table, folder / f"{i}.parquet")
    (folder / "images.npy").write_bytes(npy(_IMAGES))
    (folder / "labels.npy").write_bytes(npy(_LABELS))
    (folder / "set.npz").write_bytes(npz(images=_IMAGES[..., 0], labels=_LABELS))


def _write(folder: Path, files: Files) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _cases(kind: str, folder: Path) -> list[_Case]:
    """What is built of a kind."""
    _own_files(folder)
    classes = [f"class-{i}" for i in range(10)]
    parts = ("train", "test")
    cifar10 = {"cifar-10-python.tar.gz": cifar10_tar(_IMAGES, _LABELS)}
    v6 = {f"cifar10.1_v6_{k}.npy": npy(v) for k, v in (("data", _IMAGES), ("labels", _LABELS))}
    v2 = {
        f"cifar102_{one}.npz": npz(images=_IMAGES, labels=_LABELS, label_names=np.array(CIFAR10))
        for one in parts
    }
    cases: dict[str, list[_Case]] = {
        "digits": [({"part": p}, {}) for p in ("train", "validation", "known", "new-writers")],
        "cifar10": [({"part": p}, cifar10) for p in parts] + [
            ({"part": "test", "per_class": 2}, cifar10)
        ],
        "cifar10_1": [({"version": "v6"}, v6)],
        "cifar10_2": [({"part": p}, v2) for p in parts],
        "cifar10_c": [({"corruption": "snow", "severity": s}, _cifar10_c()) for s in (1, 4)],
        "cinic10": [
            ({"part": "test"}, _cinic10()), ({"part": "train", "per_class": 1}, _cinic10()),
        ],
        "image_folder": [
            ({"path": str(folder / "set")}, {}),
            ({"path": str(folder / "set"), "classes": classes[::-1]}, {}),
        ],
        "arrays": [
            (
                {"images": str(folder / "images.npy"), "labels": str(folder / "labels.npy"),
                 "classes": "cifar10", "per_class": 1},
                {},
            ),
            ({"file": str(folder / "set.npz"), "classes": classes, "max_value": 250}, {}),
        ],
        "parquet": [
            ({"files": [str(folder / f"{i}.parquet") for i in (1, 0)], "classes": classes}, {})
        ],
    }  # fmt: skip
    if kind == "imagenet":
        return _imagenet(folder)
    if kind == "imagenetv2":
        variants = ("matched-frequency", "threshold-0.7", "top-images")
        return [({"variant": variant}, _imagenetv2()) for variant in variants]
    return cases[kind]


def of_kind(name: str) -> Fingerprint:
    """Sets of a kind, from tiny files in the published formats."""
    with tempfile.TemporaryDirectory() as text:
        datasets = []
        for i, (options, files) in enumerate(_cases(name, Path(text))):
            Path(text, str(i)).mkdir()
            with pytest.MonkeyPatch.context() as patch:
                datasets.append(prepare(patch, Path(text, str(i)), name, options, files))
        return _of_datasets(datasets)


# --- transforms


def _transformed(geometries: Iterable[Geometry]) -> Fingerprint:
    images = [Image.fromarray(pixels(*shape, 3)) for shape in ((37, 50), (61, 40), (16, 16))]
    return fingerprint(
        np.asarray(geometry.apply(image)) for geometry in geometries for image in images
    )


def of_resize(name: str) -> Fingerprint:
    """Images of several shapes, enlarged, reduced, cropped and padded."""
    if name == "none":
        return _transformed([Geometry()])
    fill = (10, 200, 90) if name == "fit" else None
    sizes = (((32, 32), (28, 28)), ((21, 21), (26, 24)))
    return _transformed(Geometry(name, *size, "bilinear", fill) for size in sizes)


def of_interpolation(name: str) -> Fingerprint:
    """Images that are enlarged and reduced."""
    return _transformed(Geometry("exact", (n, n), (n, n), name) for n in (23, 71))


def of_normalization(name: str) -> Fingerprint:
    """Means and standard deviations."""
    return fingerprint(NORMALIZATIONS[name])


def of_library_transform(name: str) -> Fingerprint:
    """What a transform of timm or torchvision becomes."""
    if name == "torchvision":
        from torchvision.models import ResNet50_Weights, ViT_L_16_Weights

        presets = (ResNet50_Weights.IMAGENET1K_V2, ViT_L_16_Weights.IMAGENET1K_SWAG_E2E_V1)
        return fingerprint([], [Transform.from_preset(p.transforms()).to_json() for p in presets])
    config = {
        "input_size": (3, 224, 200), "interpolation": "bicubic", "crop_pct": 0.9,
        "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "crop_mode": name.partition(" ")[2],
    }  # fmt: skip
    square = config | {"input_size": (3, 224, 224), "crop_pct": None}
    return fingerprint([], [Transform.from_data_config(c).to_json() for c in (config, square)])


LIBRARY_TRANSFORMS = ("timm center", "timm squash", "timm border", "torchvision")
RESIZES = ("none", "short", "cover", "fit", "exact")

# --- all of them

_TRAINING = {"training.TRAINING_VERSION": TRAINING_VERSION}
_INFERENCE = {"inference.INFERENCE_VERSION": INFERENCE_VERSION}
_BUILT = tuple(name for name, kind in KINDS.items() if kind.builder)

# What there is: names, the function, and the constants to raise when a result has changed.
GROUPS: dict[str, tuple[Iterable[str], Callable[[str], Fingerprint], dict[str, int]]] = {
    "architecture": (ARCHITECTURES, of_architecture, _TRAINING | _INFERENCE),
    "loss": (LOSSES, of_loss, _TRAINING),
    "augmentation": (AUGMENTATIONS, of_augmentation, _TRAINING),
    "schedule": (SCHEDULES, of_schedule, _TRAINING),
    "optimizer": (OPTIMIZERS, of_optimizer, _TRAINING),
    "algorithm": (ALGORITHMS, of_algorithm, _TRAINING),
    "weight_decay_on": (DECAYED, of_decay, _TRAINING),
    "training_normalization": (TRAINING_NORMALIZATIONS, of_training_normalization, _TRAINING),
    "derivation": (
        DERIVATIONS, of_derivation, {"datasets.derivations.DERIVATION_VERSION": DERIVATION_VERSION}
    ),
    "resize": (RESIZES, of_resize, _INFERENCE),
    "interpolation": (INTERPOLATIONS, of_interpolation, _INFERENCE),
    "normalization": (NORMALIZATIONS, of_normalization, _INFERENCE),
    "library_transform": (LIBRARY_TRANSFORMS, of_library_transform, _INFERENCE),
    **{
        f"kind {name}": ((name,), of_kind, {f"builder_version of {KINDS[name].__name__}":
                                            KINDS[name].builder_version})
        for name in _BUILT
    },
}  # fmt: skip
NAMES = [(group, name) for group, (names, _, _) in GROUPS.items() for name in names]


def present(group: str, name: str) -> Fingerprint:
    """The fingerprint of a result as it is now, with the versions of its stages."""
    _, function, versions = GROUPS[group]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {"versions": versions, **function(name)}
    finally:
        torch.set_num_threads(threads)


def stored() -> dict[str, Fingerprint]:
    """The fingerprints on file, by group and name."""
    known: dict[str, Fingerprint] = json.loads(FILE.read_text()) if FILE.is_file() else {}
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the golden fingerprints anew.")
    parser.add_argument("--same-version", action="store_true", help="see above")
    allowed = parser.parse_args().same_version
    old, new, refused = stored(), {}, []
    for group, name in NAMES:
        key = f"{group}/{name}"
        found, known = present(group, name), old.get(key)
        changed = known is None or differs(found, known)
        if known is not None and not changed and found["versions"] == known["versions"]:
            found = known  # no change of last bits
        elif known is not None and changed:
            same = [k for k, v in found["versions"].items() if v == known["versions"].get(k)]
            refused += [f"{key} has changed: raise {' and '.join(same)}"] if same else []
        new[key] = found
    if refused and not allowed:
        sys.exit("\n".join(refused))
    lines = [f"{json.dumps(key)}: {json.dumps(new[key])}" for key in new]
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
