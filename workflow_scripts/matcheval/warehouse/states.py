"""What the steps of a build depend on: files of the user's, and what people said; no images."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from matcheval.datasets.specs import DatasetSpec
from matcheval.warehouse import WAREHOUSE_VERSION
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet


def reading_state(source: SourceSet, settings: WarehouseSettings) -> str:
    """Return a digest of what reading a set depends on: sizes and times of its files, settings."""
    files = [
        (one.place, stat.st_size, stat.st_mtime_ns)
        for one in source.files()
        if one.file.exists() and (stat := one.file.stat())
    ]
    facts = [asdict(source.facts), [asdict(one.facts) for one in source.listed]]
    return digest_of(source.name, facts, files, settings.decoding.model_dump(mode="json"))


def reference_state(name: str, settings: WarehouseSettings) -> str:
    """Return a digest of what the hashes of a base or training set depend on."""
    block = settings.against[name]
    options = {key: value for key, value in block.items() if key != "kind"}
    return digest_of(block, DatasetSpec(name, block["kind"], options).custom_files_state)


def digest_of(*parts: Any) -> str:
    """Compute a digest of what a step depends on."""
    text = json.dumps([WAREHOUSE_VERSION, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
