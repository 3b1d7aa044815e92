"""Build a dataset: from its source, or from other datasets."""

import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matcheval.datasets.derived import Derivation, derive
from matcheval.datasets.folders import DATAPOINTS, DESCRIPTION, read_dataset, write_dataset
from matcheval.datasets.prepare import prepare_dataset
from matcheval.execution.jobs import unpack_argument
from matcheval.io.files import readable
from matcheval.io.provenance import publish
from matcheval.io.self_digests import digest_of

log = logging.getLogger("prepare")


def prepare(
    name: str, kind: str, options: str, downloads: Path, output: Path, threads: int = 1
) -> None:
    """Build a dataset from its source and write it to a folder."""
    with readable(name, "a JSON object of options", TypeError):
        parsed = dict(json.loads(options))
    dataset = prepare_dataset(name, kind, parsed, output, downloads, n_threads=threads)
    is_array = dataset.stored != "files"
    sizes = "×".join(map(str, dataset.image_shape)) if is_array else "various sizes"
    log.info("%s: %d images of %s, sha256 %s", name, len(dataset), sizes, dataset.sha256[:16])


def prepare_made(sets: str, results: Path, links: Path) -> None:
    """Write descriptions of datasets whose images are made only when they are read.

    `sets` is a list, packed as JSON, of names, kinds, options, versions, sources and downloads.
    """
    from matcheval.execution.batches import kept_member, make_members

    members, outputs = [], list[Path]()
    for name, kind, options, version, sources, downloads in unpack_argument(sets):
        folder = results / "datasets" / name
        reads = [folder.with_name(source) / DESCRIPTION for source in sources]
        reads += [results / "downloads" / file for file in downloads]
        files = (folder / DESCRIPTION, folder / DATAPOINTS)
        make = partial(prepare, name, kind, json.dumps(options), results / "downloads", folder)
        members.append(kept_member(name, files, digest_of([kind, options, version]), reads, make))
        outputs += files
    make_members(members)
    for file in outputs:
        publish(file, links / file.parent.name / file.name)


def prepare_derived(derivation: str, sources: Sequence[str], output: str) -> None:
    """Derive a dataset from other ones, and write it to a folder."""
    dataset = derive(Derivation.from_json(derivation), [read_dataset(f) for f in sources])
    write_dataset(dataset, output)
    log.info("%s: %d images, sha256 %s", dataset.name, len(dataset), dataset.sha256[:16])
