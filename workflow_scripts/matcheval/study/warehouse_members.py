"""The sets of a warehouse as members of a suite; they need not be built yet."""

from collections.abc import Iterator
from pathlib import Path

from matcheval.study.suite_settings import SuiteMember
from matcheval.warehouse.manifest import read_reviews
from matcheval.warehouse.sets import find_sets
from matcheval.warehouse.settings import read_warehouse

DEFAULT_SIDE = 32


def warehouse_members(file: str, side: int) -> Iterator[tuple[SuiteMember, dict[str, str]]]:
    """List the sets of a warehouse."""
    settings = read_warehouse(Path(file).expanduser())
    sets = find_sets(settings)
    reviews = read_reviews(settings, sets)
    for name, source in sets.items():
        decisions = reviews[name].decisions.values()
        corrected = {one.class_name for several in decisions for one in several}
        classes = tuple(
            one for one in settings.class_names if one in source.classes or one in corrected
        )
        yield SuiteMember(
            dataset={"kind": "warehouse_set", "warehouse": file, "set": name, "side": side},
            name=name, group=source.group, subgroup=source.source,
            classes=() if len(classes) == len(settings.class_names) else classes,
        ), {"file": file}  # fmt: skip
