"""Arrange the frames of ImageNet-Vid-Robust (Shankar et al. 2021) as doc-imagenet.yaml reads them.

    .venv/bin/python studies/pack_vid_robust.py imagenet-vid-robust data/imagenet-vid-robust

The first folder is the authors' download, with `val/` and `metadata/` (`labels.json` and
`pmsets.json`). Taken are the 1,109 anchor frames. `frames/` gets a link to each, in a folder that
is called by the first class of a group of its; `labels.csv` gets all groups of each.
"""

import argparse
import csv
import json
import os
import sys
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.user_files import read_yaml

GROUPS = Path(__file__).parent / "labels" / "imagenet-vid-robust.yaml"


def pack(download: Path, folder: Path) -> int:
    """Write links and labels; return the number of frames."""
    groups = read_yaml(GROUPS)
    names = list(groups)
    labels, anchors = (
        json.loads((download / "metadata" / file).read_text(encoding="utf-8"))
        for file in ("labels.json", "pmsets.json")
    )
    rows = []
    for frame in sorted(anchors):
        if not (download / frame).is_file():
            raise InputError("no such file", file=download / frame)
        found = [names[label] for label in labels[frame]]
        image = f"{groups[found[0]][0]}/{'_'.join(Path(frame).parts[1:])}"
        link = folder / "frames" / image
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(download / frame, link.parent))
        rows.append((image, ";".join(found)))
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("name", "labels"), *rows])
    return len(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("download", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    sys.stdout.write(f"{pack(given.download, given.folder)} frames\n")
