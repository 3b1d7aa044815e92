"""Where results come from: versions, weights, images, files and their digests."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from matcheval.io.json_files import read_json
from matcheval.io.provenance import software_versions
from matcheval.io.text_tables import TextColumn
from matcheval.report.embedding import read_result
from matcheval.report.pages import Provenance
from matcheval.report.tables import HtmlTable

PACKAGES = ("jinja2", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "scipy")
_UNKNOWN = "–"
_OF_MODEL = {
    "weights_sha256": "SHA-256 of the weights",
    "transform": "Transform",
    "dtype": "Precision",
    "device": "Device",
    "torch": "torch",
}


def study_provenance(
    asked: str,
    models: Mapping[str, Mapping[str, str]],
    datasets: Mapping[str, Mapping[str, str]],
    files: Sequence[Path],
) -> Provenance:
    """Collect what a reader needs to make a study's results again."""
    tables = digests(files, "Tables that this page is made from")
    described = [_models(models), _datasets(datasets), tables]
    return Provenance(software_versions(*PACKAGES), asked, described)


def digests(files: Sequence[Path], caption: str) -> HtmlTable:
    """List files with the SHA-256 of their bytes."""
    found = [hashlib.sha256(read_result(path)).hexdigest() for path in files]
    columns = (
        TextColumn("File", [str(path) for path in files], is_number=False),
        TextColumn("SHA-256", found, is_number=False),
    )
    return HtmlTable(caption, columns)


def _models(models: Mapping[str, Mapping[str, str]]) -> HtmlTable:
    found = [_metadata(one["predictions"]) for one in models.values()]
    columns = [
        TextColumn("Model", list(models), is_number=False),
        TextColumn("From", [one["source"] for one in models.values()], is_number=False),
    ]
    for key, head in _OF_MODEL.items():
        cells = [one.get(key, _UNKNOWN) for one in found]
        if set(cells) != {_UNKNOWN}:
            columns.append(TextColumn(head, cells, is_number=False))
    return HtmlTable("Models", tuple(columns))


def _metadata(path: str) -> dict[str, str]:
    """Return what a prediction file tells of its model; other formats than Parquet tell nothing."""
    if not path.endswith(".parquet"):
        return {}
    stored = pq.read_schema(path).metadata or {}
    return {key.decode(): value.decode(errors="replace") for key, value in stored.items()}


def _datasets(datasets: Mapping[str, Mapping[str, str]]) -> HtmlTable:
    described = [
        # Images may be deleted once all models have seen them.
        read_json(path) if (path := Path(one["description"])).is_file() else {}
        for one in datasets.values()
    ]
    columns = (
        TextColumn("Dataset", list(datasets), is_number=False),
        TextColumn("Kind", [one["kind"] for one in datasets.values()], is_number=False),
        TextColumn("Options", [one["options"] for one in datasets.values()], is_number=False),
        TextColumn("Images", [f"{one['n']:,}" if one else _UNKNOWN for one in described]),
        TextColumn(
            "SHA-256 of the images", [one.get("sha256", _UNKNOWN) for one in described],
            is_number=False,
        ),
    )  # fmt: skip
    return HtmlTable("Datasets", columns)
