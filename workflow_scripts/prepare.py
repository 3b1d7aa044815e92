"""Build a dataset: from its source, or from other datasets."""

import argparse
import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.datasets.derived import Derivation, derive
from matcheval.datasets.folders import DATAPOINTS, DESCRIPTION, read_dataset, write_dataset
from matcheval.datasets.prepare import KINDS, prepare_dataset
from matcheval.execution.entry_points import run_command
from matcheval.execution.jobs import unpacked
from matcheval.io.files import readable
from matcheval.io.kept import publish
from matcheval.io.self_digests import digest_of

log = logging.getLogger("prepare")


def prepare(name: str, kind: str, options: str, downloads: str, threads: int, output: str) -> None:
    """Build a dataset from its source and write it to a folder."""
    with readable(name, "a JSON object of options", TypeError):
        parsed = dict(json.loads(options))
    dataset = prepare_dataset(name, kind, parsed, Path(output), Path(downloads), n_threads=threads)
    is_array = dataset.stored != "files"
    sizes = "×".join(map(str, dataset.image_shape)) if is_array else "various sizes"
    log.info("%s: %d images of %s, sha256 %s", name, len(dataset), sizes, dataset.sha256[:16])


def prepare_made(sets: Sequence[Any], results: Path, links: Path) -> None:
    """Describe datasets whose images are made when they are read."""
    from matcheval.execution.batches import kept_member, make_members

    members, made = [], list[Path]()
    for name, kind, options, version, sources, downloads in sets:
        folder = results / "datasets" / name
        reads = [folder.with_name(source) / DESCRIPTION for source in sources]
        reads += [results / "downloads" / file for file in downloads]
        files = (folder / DESCRIPTION, folder / DATAPOINTS)
        arguments = {
            "name": name, "kind": kind, "options": json.dumps(options), "threads": 1,
            "downloads": str(results / "downloads"), "output": str(folder),
        }  # fmt: skip
        key = digest_of([kind, options, version])
        members.append(kept_member(name, files, key, reads, partial(prepare, **arguments)))
        made += files
    make_members(members)
    for file in made:
        publish(file, links / file.parent.name / file.name)


def prepare_derived(derivation: str, sources: Sequence[str], output: str) -> None:
    """Build a dataset from other ones and write it to a folder."""
    dataset = derive(Derivation.from_json(derivation), [read_dataset(f) for f in sources])
    write_dataset(dataset, output)
    log.info("%s: %d images, sha256 %s", dataset.name, len(dataset), dataset.sha256[:16])


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and build the dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    dataset = commands.add_parser("dataset", help="from its source")
    dataset.set_defaults(function=prepare)
    dataset.add_argument("--name", required=True, help="name of the dataset")
    dataset.add_argument("--kind", required=True, help=f"kind of dataset: {', '.join(KINDS)}")
    dataset.add_argument("--options", default="{}", help="the kind's options, a JSON object")
    dataset.add_argument("--downloads", default="downloads", help="folder of the published files")
    dataset.add_argument("--threads", type=int, default=1, help="CPU threads for decoding images")
    dataset.add_argument("--output", required=True, help="folder to write")
    made = commands.add_parser("made", help="datasets whose images are made when they are read")
    made.set_defaults(function=prepare_made)
    about = "JSON list of [name, kind, options, version, sources, downloads]"
    made.add_argument("--sets", type=unpacked, required=True, help=about)
    made.add_argument("--results", type=Path, required=True, help="folder of all results")
    made.add_argument("--links", type=Path, required=True, help="folder of links to their files")
    derived = commands.add_parser("derived", help="a part, a union, or a set labelled by origin")
    derived.set_defaults(function=prepare_derived)
    derived.add_argument("--derivation", required=True, help="what to build, a JSON object")
    derived.add_argument("--sources", required=True, nargs="+", help="dataset folders")
    derived.add_argument("--output", required=True, help="folder to write")
    run_command(**vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
