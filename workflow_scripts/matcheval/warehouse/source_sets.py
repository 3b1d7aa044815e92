"""A set of the user's images: its classes, its files, and what is known of them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an image; None for what is not."""

    query: str | None = None
    url: str | None = None
    licence: str | None = None
    retrieved: str | None = None
    generator: str | None = None
    seed: str | None = None


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file of a set."""

    file: Path
    place: str
    class_name: str
    facts: Facts


@dataclass(frozen=True)
class SourceSet:
    """A set of the user's images."""

    name: str
    group: str
    source: str = ""
    style: str = ""
    colour: str | None = None
    classes: tuple[str, ...] = ()
    folder: Path | None = None
    facts: Facts = Facts()
    listed: tuple[ImageFile, ...] = ()

    def files(self) -> Iterator[ImageFile]:
        """Iterate over its image files, sorted by place; hidden files are left out."""
        if self.folder is None:
            yield from self.listed
            return
        for name in sorted(self.classes):
            facts = self._facts_of(name)
            for file in _files_below(self.folder / name):
                place = file.relative_to(self.folder).as_posix()
                yield ImageFile(file, place, name, facts)

    def file_at(self, place: str) -> Path:
        """Return the path of an image file."""
        if self.folder is not None:
            return self.folder / place
        return self._listed_by_place[place]

    @cached_property
    def _listed_by_place(self) -> dict[str, Path]:
        return {one.place: one.file for one in self.listed}

    def _facts_of(self, class_name: str) -> Facts:
        query = self.facts.query
        filled = None if query is None else query.replace("{class}", class_name)
        return replace(self.facts, query=filled)


def _files_below(folder: Path) -> Iterator[Path]:
    """All files below a folder, sorted by path; linked folders are followed."""
    found = []
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if not name.startswith(".")]
    yield from sorted(found)
