"""Small image sets, as arrays, generated photographs, and in the formats of published ones."""

import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from scipy.io import savemat

from matcheval.datasets.dataset import EncodedImages, make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.downloads.sources import published_files

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("MATCHEVAL_SHARED", ROOT.parent / "shared"))
CIFAR = SHARED / "data" / "cifar10"
needs_cifar = pytest.mark.skipif(
    not CIFAR.is_dir(),
    reason=f"no CIFAR-10 images at {CIFAR}; MATCHEVAL_SHARED names the folder above data/",
)


def cifar_images(n):
    """Real CIFAR-10 test images where they are available, else noise of the same shape."""
    if not CIFAR.is_dir():
        rng = np.random.default_rng(0)
        return rng.integers(0, 256, (n, 32, 32, 3), np.uint8), np.arange(n) % 10
    with pq.ParquetFile(CIFAR / "test.parquet") as file:
        rows = next(file.iter_batches(n)).to_pydict()
    images = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in rows["image"]]
    return np.stack(images), np.array(rows["label"])


def dataset(images, labels=(0,), name="d", classes=("a", "b"), max_value=255, folder=None, **more):
    """A dataset of images; with `folder`, written to the folder of its name there."""
    labels, more = np.asarray(labels), {"classes": classes, "max_value": max_value, **more}
    made = make_dataset(name, images, labels, source="tests", **more)
    if folder is not None:
        write_dataset(made, folder / name)
    return made


def write_files(folder, files):
    """Write files by path below a folder; return the folder as text."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return str(folder)


def encode(image, kind="PNG", **options):
    file = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(np.asarray(image))
    image.save(file, kind, **options)
    return file.getvalue()


def tar(files, mode="w"):
    """A tar archive as bytes, from files by path."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as writer:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            writer.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def cifar10_tar(images, labels, classes=CIFAR10):
    """The Python version of CIFAR-10: pickles, each here with a fifth of the images."""

    def batch(rows):
        return pickle.dumps(
            {
                b"data": images[rows].transpose(0, 3, 1, 2).reshape(len(images[rows]), -1),
                b"labels": [int(label) for label in labels[rows]],
                b"filenames": [f"image_{row}.png".encode() for row in range(len(labels[rows]))],
            },
            protocol=2,
        )

    parts = {f"data_batch_{i + 1}": slice(i, None, 5) for i in range(5)}
    files = {name: batch(rows) for name, rows in parts.items()}
    files["test_batch"] = batch(slice(None))
    files["batches.meta"] = pickle.dumps({b"label_names": [n.encode() for n in classes]}, 2)
    return tar({f"cifar-10-batches-py/{name}": data for name, data in files.items()}, "w:gz")


def imagenet_devkit(labels, numbers, wnids):
    """ILSVRC's development kit: classes in an order of its own, then an inner node.

    `labels` are those of images 1, 2, ..., and `numbers` those of its classes 1, 2, ...
    """
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("num_children", "O")]
    rows = [(i, wnids[label], 0) for i, label in enumerate(numbers, start=1)]
    synsets = np.array([*rows, (1001, "n00001740", 3)], dtype=kinds)
    file = io.BytesIO()
    savemat(file, {"synsets": synsets.reshape(-1, 1)})
    truth = "".join(f"{np.flatnonzero(numbers == label)[0] + 1}\n" for label in labels)
    return {
        "ILSVRC2012_devkit_t12/data/meta.mat": file.getvalue(),
        "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": truth.encode(),
    }


def sources_yaml(files, address="https://nowhere.invalid"):
    """A list of published files."""
    entries = {
        name: {
            "urls": [f"{address}/{name}"],
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for name, content in files.items()
    }
    return yaml.safe_dump({"sets": {"files": entries}})


def prepare(monkeypatch, tmp_path, kind, options, files=None, **further):
    """Prepare a dataset as if `files` were the published files."""
    from matcheval.datasets.prepare import prepare_dataset
    from matcheval.downloads import sources

    if files:
        path = tmp_path / "sources.yaml"
        path.write_text(sources_yaml(files))
        write_files(tmp_path / "downloads", files)
        monkeypatch.setattr(sources, "SOURCES", path)
        known = published_files.__wrapped__()  # not the one in the cache
        monkeypatch.setattr(sources, "published_files", lambda: known)
    folder = tmp_path / "datasets" / "d"
    return prepare_dataset("d", kind, options, folder, tmp_path / "downloads", **further)


def photo(width, height, seed=0):
    """An RGB image with soft shapes, sharp edges and noise, as photographs have them."""
    rng = np.random.default_rng(seed)
    soft = Image.fromarray(rng.integers(0, 256, (5, 7, 3), dtype=np.uint8))
    pixels = np.asarray(soft.resize((width, height), Image.Resampling.BICUBIC)).astype(float)
    pixels[:: max(2, height // 9)] = rng.integers(0, 256, 3)
    pixels[:, :: max(2, width // 7)] = rng.integers(0, 256, 3)
    pixels += rng.normal(0, 12, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def jpeg(image, **options):
    return encode(image, "JPEG", **{"quality": 90, **options})


def encoded_dataset(files, *, name="photos", n_classes=1000, seed=0):
    """A dataset of image files, given as bytes; ImageNet's classes, if there are 1,000."""
    classes = imagenet_classes() if n_classes == 1000 else tuple(map(str, range(n_classes)))
    offsets = np.cumsum([0, *map(len, files)])[:-1].astype(np.int64)
    images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    labels = np.random.default_rng(seed).integers(0, n_classes, len(files))
    names = [f"{i}.jpg" for i in range(len(files))]
    return dataset(images, labels, name, classes, names=names)


def photos(n, *, seed=0, edges=(150, 420)):
    """A dataset of photographs of many sizes, as JPEG files."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*edges, (n, 2))
    return encoded_dataset([jpeg(photo(*map(int, size), i)) for i, size in enumerate(sizes)])
