"""Make the images of `small-warehouse.yaml`: sets of PACS and CIFAR-10, with planted faults.

    .venv/bin/python studies/make_small_warehouse.py [DATA]             make DATA/small-warehouse
    .venv/bin/python studies/make_small_warehouse.py --check STEPS.csv  compare a build with it

Of PACS, the dogs and horses; of CIFAR-10, JPEG copies of the first 2,000 test images. A set has one
domain and one measured colour. Pictures that are alike by nature (their hashes are within 4
bits, found by comparing all pairs) are left out first, so that all duplicates are planted ones.
`planted.csv` has what was planted, as it should be counted by a build.
"""

import argparse
import csv
import io
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

from matcheval.datasets.label_spaces import CIFAR10
from matcheval.warehouse.images import dominant_colour, image_id, perceptual_hash, pixel_digest

SEED = 0
DISTANCE = 4
LARGEST, SMALLEST = 200, 40  # images of a set
PACS = {0: "dog", 4: "horse"}
ELEPHANT = 1
N = {
    "exact": 12, "near": 12, "two classes": 6, "across": 8, "leaked": 15, "leaked train": 5,
    "wrong class": 20, "noise": 10,
}  # fmt: skip


@dataclass
class Picture:
    """An image file on its way into a set."""

    content: bytes
    suffix: str
    domain: str
    name: str
    class_name: str
    image: Image.Image
    hash: int

    @property
    def colour(self) -> str:
        """Its most frequent colour, which decides on its set."""
        return dominant_colour(self.image)


def tell(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


def opened(content: bytes) -> Image.Image:
    """Decode an image file."""
    return Image.open(io.BytesIO(content)).convert("RGB")


def encoded(image: Image.Image, format: str, **options: int) -> bytes:
    """Encode an image."""
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def picture(content: bytes, suffix: str, domain: str, name: str, class_name: str) -> Picture:
    """Decode and hash an image file."""
    image = opened(content)
    return Picture(content, suffix, domain, name, class_name, image, perceptual_hash(image))


def rows_of(file: Path, start: int, stop: int | None) -> list[tuple[int, bytes, int]]:
    """Rows of a Parquet file of images: position, file, label."""
    table = pq.read_table(file, columns=["image", "label"]).slice(start, stop and stop - start)
    rows = zip(table["image"], table["label"].to_pylist(), strict=True)
    return [(start + i, image.as_py(), label) for i, (image, label) in enumerate(rows)]


def collect(data: Path) -> tuple[list[Picture], list[Picture], dict[str, list[Picture]]]:
    """Read candidates for sets, elephants, and the images of base and training set."""
    candidates, elephants = [], []
    for domain in ("art_painting", "cartoon", "photo", "sketch"):
        for i, content, label in rows_of(data / "pacs" / f"{domain}.parquet", 0, None):
            if label in PACS:
                name = f"{i:05d}"
                candidates.append(picture(content, ".webp", f"PACS-{domain}", name, PACS[label]))
            elif label == ELEPHANT and domain == "photo":
                elephants.append(picture(content, ".webp", "PACS-photo", f"e{i:05d}", "dog"))
    for i, content, label in rows_of(data / "cifar10" / "test_jpeg.parquet", 0, 2000):
        candidates.append(picture(content, ".jpg", "CIFAR-jpeg", f"{i:05d}", CIFAR10[label]))
    references = {}
    for name, file, start, stop in (
        ("cifar10-base", "test", 2000, 10_000), ("cifar10-train", "train", 0, 10_000),
    ):  # fmt: skip
        references[name] = [
            picture(content, ".webp", "", f"{i:05d}", CIFAR10[label])
            for i, content, label in rows_of(data / "cifar10" / f"{file}.parquet", start, stop)
        ]
    return candidates, elephants, references


def alike(one: Sequence[Picture], others: Sequence[Picture]) -> np.ndarray:
    """Number of others within the distance, by comparing all pairs."""
    hashes = np.array([p.hash for p in others], np.uint64)
    return np.array([
        (np.bitwise_count(hashes ^ np.uint64(p.hash)) <= DISTANCE).sum() for p in one
    ])  # fmt: skip


def unlike(pictures: Sequence[Picture], others: Sequence[Picture]) -> list[Picture]:
    """Pictures that are like no other one, and like none of further ones."""
    lonely = (alike(pictures, pictures) == 1) & (alike(pictures, others) == 0)
    return [p for p, keep in zip(pictures, lonely, strict=True) if keep]


def divide(pictures: Sequence[Picture]) -> dict[str, list[Picture]]:
    """Sets of one domain and colour, of those large enough, some images of each at random."""
    found: dict[str, list[Picture]] = {}
    for i in np.random.default_rng(SEED).permutation(len(pictures)):
        p = pictures[i]
        found.setdefault(f"{p.domain}-{p.colour}", []).append(p)
    return {k: v[:LARGEST] for k, v in sorted(found.items()) if len(v) >= SMALLEST}


class Planting:
    """Writes sets and faults; remembers what should be found."""

    def __init__(self, root: Path, sets: dict[str, list[Picture]]) -> None:
        self.root, self.sets = root, sets
        self.random = np.random.default_rng(SEED)
        self.found: Counter[str] = Counter()
        self.used: set[tuple[str, str]] = set()
        self.decisions: list[tuple[str, str, str, str, str]] = []
        for name, pictures in sets.items():
            for p in pictures:
                self.write(name, p.class_name, f"{p.name}{p.suffix}", p.content)

    def write(self, name: str, class_name: str, file: str, content: bytes) -> Path:
        """Write a file of a set."""
        path = self.root / "images" / name.split("-")[0] / name / class_name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.found["files"] += 1
        return path

    def draw(self, n: int, domain: str = "") -> list[tuple[str, Picture]]:
        """Draw images that no fault has been planted to yet."""
        free = [
            (name, p)
            for name, pictures in self.sets.items()
            for p in pictures
            if (p.domain, p.name) not in self.used and p.domain.startswith(domain)
        ]
        chosen = [free[i] for i in self.random.choice(len(free), n, replace=False)]
        self.used |= {(p.domain, p.name) for _, p in chosen}
        return chosen

    def plant_copies(self) -> tuple[int, int]:
        """Exact copies, near copies, copies under another class and in another set."""
        for name, p in self.draw(N["exact"]):
            self.write(name, p.class_name, f"{p.name}-x.png", encoded(p.image, "PNG"))
            self.found["exact copies in a set"] += 1
        planted = tried = 0
        for name, p in self.draw(10 * N["near"], "PACS"):
            if planted == N["near"]:
                break
            copy = encoded(p.image.resize((160, 160), Image.Resampling.LANCZOS), "JPEG", quality=85)
            tried += 1
            if (perceptual_hash(opened(copy)) ^ p.hash).bit_count() > DISTANCE:
                continue
            planted += 1
            self.write(name, p.class_name, f"{p.name}-y.jpg", copy)
        self.found["near copies in a set"] = planted
        for name, p in self.draw(N["two classes"], "PACS"):
            other = "horse" if p.class_name == "dog" else "dog"
            self.write(name, other, f"{p.name}-z{p.suffix}", p.content)
            self.found["one picture, two classes in a set"] += 2
        names = sorted(self.sets)
        for name, p in self.draw(N["across"], "PACS"):
            other = next(n for n in names if n.startswith("PACS") and n != name)
            self.write(other, p.class_name, f"{p.name}-w{p.suffix}", p.content)
            self.found["also in an earlier set"] += 1
        return planted, tried

    def plant_leaks(self, references: dict[str, list[Picture]]) -> None:
        """Images of base and training set, in sets of CIFAR-10 images of their colour."""
        for reference, n in (("cifar10-base", N["leaked"]), ("cifar10-train", N["leaked train"])):
            pool = [p for p in references[reference] if f"CIFAR-jpeg-{p.colour}" in self.sets]
            others = [p for each in references.values() for p in each]
            # Alone among the references, and unlike all that is in the sets.
            pool = [pool[i] for i in self.random.choice(len(pool), 4 * n, replace=False)]
            inside = [p for each in self.sets.values() for p in each]
            lonely = (alike(pool, others) == 1) & (alike(pool, inside) == 0)
            chosen = [p for p, keep in zip(pool, lonely, strict=True) if keep][:n]
            for p in chosen:
                set_name, file = f"CIFAR-jpeg-{p.colour}", f"{reference}-{p.name}.png"
                self.write(set_name, p.class_name, file, encoded(p.image, "PNG"))
                self.found[f"also in {reference}"] += 1

    def plant_wrong_labels(self, elephants: Sequence[Picture]) -> None:
        """Images in the folder of another class, and elephants among dogs, with two reviewers."""
        for number, (name, p) in enumerate(self.draw(N["wrong class"], "PACS")):
            wrong = "horse" if p.class_name == "dog" else "dog"
            folder = self.root / "images" / "PACS" / name
            file = f"{p.name}{p.suffix}"
            (folder / wrong).mkdir(exist_ok=True)
            (folder / p.class_name / file).rename(folder / wrong / file)
            image = self.id_of(name, f"{wrong}/{file}", p)
            self.decisions.append((image, "relabel", "wrong class", p.class_name, "ann"))
            second = ("keep", "", "") if number < 3 else ("relabel", "wrong class", p.class_name)
            self.decisions.append((image, *second, "bob"))
            if number < 2:  # of the three that they disagree on, one stays open
                self.decisions.append((image, "relabel", "wrong class", p.class_name, "arbiter"))
        self.found["relabelled"] = N["wrong class"] - 1
        self.found["reviewers disagree"] = 1
        dogs = [n for n in sorted(self.sets) if n.startswith("PACS-photo")]
        for number, p in enumerate(elephants[: N["noise"]]):
            name, file = dogs[number % len(dogs)], f"{p.name}{p.suffix}"
            self.write(name, "dog", file, p.content)
            image = self.id_of(name, f"dog/{file}", p)
            for reviewer in ("ann", "bob"):
                self.decisions.append((image, "reject", "noise", "", reviewer))
        self.found["rejected by people"] = N["noise"]
        for name, p in self.draw(30):
            image = self.id_of(name, f"{p.class_name}/{p.name}{p.suffix}", p)
            self.decisions += [(image, "keep", "", "", r) for r in ("ann", "bob")]
        self.found["decided on by people"] = N["wrong class"] + N["noise"] + 30

    def id_of(self, name: str, place: str, p: Picture) -> str:
        """Name of an image in the warehouse."""
        return image_id(name, place, pixel_digest(p.image))

    def plant_broken_files(self) -> None:
        """Files that are not taken, or not as they are."""
        names = sorted(self.sets)
        (_, truncated), *frames = self.draw(3, "PACS")
        huge, small = Image.new("1", (20_000, 20_000)), frames[0][1].image.resize((20, 20))
        bad = {
            "empty": [b"", b"", b""],
            "unreadable": [b"<html>404</html>", b"moved", encoded(truncated.image, "JPEG")[:1500]],
            "huge": [encoded(huge, "PNG")],
            "too small": [encoded(small, "PNG"), encoded(small.rotate(90), "PNG")],
        }
        for problem, contents in bad.items():
            for i, content in enumerate(contents):
                self.write(names[i], "dog", f"bad-{problem.replace(' ', '-')}-{i}.jpg", content)
                self.found[problem] += 1
        for name, p in self.draw(4, "PACS"):
            folder = self.root / "images" / "PACS" / name / p.class_name
            (folder / f"{p.name}{p.suffix}").rename(folder / f"{p.name}.jpg")
            self.found["wrongly named"] += 1
        for name, p in self.draw(2, "PACS"):
            film = [p.image.rotate(degrees) for degrees in (90, 180)]
            stream = io.BytesIO()
            film[0].save(stream, "GIF", save_all=True, append_images=film[1:])
            self.write(name, p.class_name, f"{p.name}-film.gif", stream.getvalue())
            self.found["animated, first frame taken"] += 1

    def finish(self) -> None:
        """Write what is known of the sets, the decisions, and what was planted."""
        about = [
            (name, "cifar10" if name.startswith("CIFAR") else "pacs",
             name.split("-")[1], name.split("-")[-1])
            for name in self.sets
        ]  # fmt: skip
        write_rows(self.root / "about.csv", ("set", "source", "style", "colour"), about)
        columns = ("image_id", "decision", "reason", "class", "reviewer")
        write_rows(self.root / "decisions.csv", columns, self.decisions)
        write_rows(self.root / "planted.csv", ("finding", "n"), sorted(self.found.items()))


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([columns, *rows])


def make(data: Path) -> None:
    """Make the images."""
    candidates, elephants, references = collect(data)
    known = [p for each in references.values() for p in each]
    lonely = unlike(candidates, [*known, *elephants])
    tell(f"{len(candidates)} candidates, {len(candidates) - len(lonely)} of them alike by nature")
    elephants = unlike(elephants, [*candidates, *known])
    root = data / "small-warehouse"
    shutil.rmtree(root, ignore_errors=True)
    sets = divide(lonely)
    planting = Planting(root, sets)
    planted, tried = planting.plant_copies()
    tell(f"{tried} images enlarged and saved as JPEG, {planted} of them within {DISTANCE} bits")
    planting.plant_leaks(references)
    planting.plant_wrong_labels(elephants)
    planting.plant_broken_files()
    planting.finish()
    tell(f"{planting.found['files']} files in {len(sets)} sets in {root}")


def check(data: Path, steps: Path) -> None:
    """Compare what a build found with what was planted."""
    with (data / "small-warehouse" / "planted.csv").open() as stream:
        planted = {row["finding"]: int(row["n"]) for row in csv.DictReader(stream)}
    with steps.open() as stream:
        found = {row["finding"]: int(row["n"]) for row in csv.DictReader(stream)}
    tell(f"{'finding':40}{'planted':>8}{'found':>8}")
    for finding, n in planted.items():
        tell(f"{finding:40}{n:8}{found[finding]:8}{'' if found[finding] == n else '  DIFFERENT'}")
    if any(found[finding] != n for finding, n in planted.items()):
        sys.exit(1)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=Path("data"))
    parser.add_argument("--check", type=Path, metavar="STEPS.csv")
    arguments = parser.parse_args()
    if arguments.check is None:
        make(arguments.data)
    else:
        check(arguments.data, arguments.check)


if __name__ == "__main__":
    main()
