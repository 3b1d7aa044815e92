"""Folders of collected images, small and drawn, for tests of warehouses."""

import csv
from pathlib import Path
from unittest import mock

import numpy as np
import yaml
from PIL import Image

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset
from matcheval.warehouse import documents
from matcheval.warehouse.build import Build
from matcheval.warehouse.settings import read_warehouse

CLASSES = ("cat", "dog", "ship")


def picture(seed: int, side: int = 40) -> Image.Image:
    """A picture of large blots, unlike all others: its hash differs in tens of bits."""
    small = np.random.default_rng(seed).integers(0, 256, (7, 7, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((side, side), Image.Resampling.BICUBIC)


class Collection:
    """Images in folders, a warehouse's file, and decisions about them.

    By default two sets, `A-red` and `B-blue`, of the group `G`, with two images per class.
    """

    def __init__(self, folder: Path, sets: tuple[str, ...] = ("A-red", "B-blue")) -> None:
        self.folder, self.images = folder, folder / "images"
        self.settings: dict = {
            "warehouse": "w", "classes": list(CLASSES), "images": str(self.images),
            "decoding": {"max_pixels": 100_000}, "export": {"sides": [32]},
        }  # fmt: skip
        seeds = iter(range(10**6))
        for name in sets:
            for class_name in CLASSES:
                for number in range(2):
                    self.add(picture(next(seeds)), f"G/{name}/{class_name}/{number}.png")

    def add(self, image: Image.Image | bytes, place: str, **options) -> Path:
        """Add an image file, or any bytes."""
        file = self.images / place
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(image, bytes):
            file.write_bytes(image)
        else:
            image.save(file, **options)
        return file

    def table(self, name: str, rows: list[dict]) -> str:
        """Write a CSV file, and return its path."""
        file = self.folder / name
        with file.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return str(file)

    def decide(self, *decisions: tuple[str, ...]) -> None:
        """Write the file of decisions: rows of image, decision, reason, class, reviewer."""
        columns = ("image_id", "decision", "reason", "class", "reviewer")
        rows = [dict(zip(columns, (*one, "", "", "", ""), strict=False)) for one in decisions]
        for row in rows:
            row["reviewer"] = row["reviewer"] or "ann"
        self.settings["review"] = self.settings.get("review", {}) | {
            "decisions": self.table("decisions.csv", rows)
        }

    def file(self) -> Path:
        """Write the warehouse's file."""
        file = self.folder / "w.yaml"
        file.write_text(yaml.safe_dump(self.settings))
        return file

    def build(self, output: str = "out", *, figures: bool = False) -> Build:
        """Build it; figures, which take nearly all the time, on request."""
        build = Build(read_warehouse(self.file()), self.folder / output)
        save = documents._save_figures if figures else mock.Mock()
        with mock.patch.object(documents, "_save_figures", save):
            build.run(1, self.folder / "downloads")
        return build

    def rows(self, output: str = "out") -> dict[str, dict]:
        """Rows of the manifest, by set and place."""
        import pyarrow.parquet as pq

        table = pq.read_table(self.folder / output / "images.parquet").to_pylist()
        return {f"{row['set']}/{row['path']}": row for row in table}

    def found(self, name: str, output: str = "out") -> list[dict[str, str]]:
        """Rows of a table."""
        with (self.folder / output / "tables" / f"{name}.csv").open() as stream:
            return list(csv.DictReader(stream))

    def steps(self) -> dict[str, int]:
        """What each step found."""
        return {row["finding"]: int(row["n"]) for row in self.found("steps")}

    def exported(self, name: str = "A-red", output: str = "out") -> Dataset:
        """A set as it was exported."""
        return read_dataset(self.folder / output / "sets" / name / "32")
