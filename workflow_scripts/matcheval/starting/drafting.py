"""From what a person has to what a study of it consists of."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from matcheval.datasets.label_spaces import label_space
from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.names import MAX_NAME_LENGTH
from matcheval.starting.looking import (
    SPACES,
    Given,
    ImageSet,
    PredictionSet,
    PublishedSet,
    SetFolder,
)

_MAX_LISTED = 10  # names in a message
_SIDE = 32  # pixels, of images that are resized
_WNID = re.compile(r"n\d{8}")
_MAP = "Rename or remove folders; or write the study with `label_map` (docs/datasets.md)"
Images = ImageSet | PublishedSet


def as_name(text: str) -> str:
    """Make a name of a study, a set or a model from a text."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")
    return kept[: MAX_NAME_LENGTH // 2] or "set"


def pattern_name(pattern: str) -> str:
    """Return what a set is called by the pattern of its prediction files."""
    path = Path(pattern)
    rest = path.name.split(".")[0].replace("{model}", "").strip("-_. ")
    folder = path.parent
    while "{model}" in folder.name:
        folder = folder.parent
    return as_name(rest or folder.resolve().name)


def listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Return names for a message, shortened if there are many."""
    shown = ", ".join(list(names)[:_MAX_LISTED])
    return f"{shown} and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else shown


@dataclass(frozen=True)
class Block:
    """A dataset of a draft."""

    name: str
    options: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True)
class Draft:
    """A study before it is written."""

    title: str
    datasets: tuple[Block, ...]
    original: str
    replication: str = ""
    prefix: str = ""
    suite: Block | None = None
    training: Mapping[str, str] = field(default_factory=dict)
    catalogue: str = ""
    models: tuple[str, ...] = ()
    more_models: str = ""

    @property
    def name(self) -> str:
        """What the study is called if nobody says."""
        other = self.replication if self.suite is None else self.suite.name
        return f"{self.original}-{other}"[:MAX_NAME_LENGTH]

    @property
    def pair_name(self) -> str:
        """What the pair is called: as the replication, before sets were renamed."""
        return self.replication.removeprefix(self.prefix)

    @property
    def reference(self) -> str:
        """The training set, for scores that need one; empty if there is none."""
        return self.training.get("train", "")

    def renamed(self, prefix: str) -> "Draft":
        """Return the same with names of sets that no other study has."""
        prefix = f"{prefix}-"
        new = {one.name: prefix + one.name for one in self.datasets}
        suite = self.suite
        if suite is not None:
            member = {**suite.options, "name": prefix + suite.options["name"]}
            if "of" in member["dataset"]:
                member["dataset"] = {**member["dataset"], "of": new[member["dataset"]["of"]]}
            suite = replace(suite, options=member)
        return replace(
            self,
            datasets=tuple(replace(one, name=new[one.name]) for one in self.datasets),
            original=new[self.original],
            replication=new.get(self.replication, ""),
            prefix=prefix,
            suite=suite,
            training={key: new[name] for key, name in self.training.items()},
        )


@dataclass(frozen=True)
class Wishes:
    """What a person adds to what can be seen."""

    train: ImageSet | None = None
    own_models: bool = False
    trains: bool = True
    resize: int | None = None
    skip_missing: bool = False
    layout: Mapping[str, Any] = field(default_factory=dict)


def draft_study(original: Given, other: Given, wishes: Wishes) -> Draft:
    """Decide what a study of two sets, or of a set and a folder of sets, consists of."""
    if isinstance(original, SetFolder):
        raise InputError(
            f"holds several sets: {listed(original.sets)}",
            file=original.path,
            remedy="Name the original first, and then the folder of the other sets: "
            f"{original.path / next(iter(original.sets))} {original.path}",
        )
    if _place(original) == _place(other):
        raise InputError("the original would be compared with itself", remedy="Name another set")
    if wishes.train is not None and _place(wishes.train) in (_place(original), _place(other)):
        raise InputError(
            "is a test set, too: models would be tested on the images that they learned from",
            file=wishes.train.path,
            field="--train",
            remedy="Name other images",
        )
    folder = other.path if isinstance(other, SetFolder) else None
    sets: Mapping[str, Given] = other.sets if isinstance(other, SetFolder) else {"": other}
    if any(isinstance(one, PredictionSet) != isinstance(original, PredictionSet)
           for one in sets.values()):  # fmt: skip
        raise InputError(
            "one of the two is prediction files, the other images",
            remedy="Give images for both sets, or predictions of the same models on both",
        )
    sets = {name: one for name, one in sets.items() if _place(one) != _place(original)}
    if not sets:
        raise InputError("holds no other set than the original", file=folder)
    if isinstance(original, PredictionSet):
        found = {n: one for n, one in sets.items() if isinstance(one, PredictionSet)}
        return _of_predictions(original, found, folder, wishes)
    images = {n: one for n, one in sets.items() if isinstance(one, ImageSet | PublishedSet)}
    return _of_images(original, images, folder, wishes)


def _place(one: Given) -> object:
    """Return what tells sets apart: where they lie, or what they are."""
    if isinstance(one, PublishedSet):
        return one
    return Path(one.pattern if isinstance(one, PredictionSet) else one.path).resolve()


def _distinct(one: str, two: str) -> tuple[str, str]:
    """Return two names that differ: themselves, or with what they are added."""
    return (one, two) if one.casefold() != two.casefold() else (f"{one}-original", f"{two}-new")


def _suite(folder: Path, base: str, block: Mapping[str, Any], sets: Iterable[str]) -> Block:
    """Return the suite of the sets in a folder."""
    if "{" in str(folder):
        raise InputError(
            "braces stand for parts of names in a suite", file=folder, remedy="Rename the folder"
        )
    for name in sets:
        if as_name(name) != name:
            raise InputError(
                f"'{name}' cannot be the name of a set",
                file=folder,
                remedy="Rename the folder: letters, digits, '.', '_' and '-', a letter first",
            )
    suite = as_name(folder.resolve().name)
    if suite.casefold() == base.casefold():
        suite = f"{suite}-sets"
    member = {"dataset": dict(block), "values": {"set": [*sets]}, "name": "{set}"}
    return Block(suite, member, "these sets; without it, all in the folder")


def _of_predictions(
    original: PredictionSet,
    others: Mapping[str, PredictionSet],
    folder: Path | None,
    wishes: Wishes,
) -> Draft:
    """Draft a study of sets that models have prediction files on."""
    name = pattern_name(original.pattern)
    if folder is None:
        (other,) = others.values()
        name, second = _distinct(name, pattern_name(other.pattern))
        others = {second: other}
    sets = {name: original, **others}
    models = _common_models(sets, wishes.skip_missing)
    renamed = {model: file for model, file in models.items() if model != file}

    def block(pattern: str) -> dict[str, Any]:
        aliases = {"aliases": renamed} if renamed else {}
        return {"kind": "predictions", "files": pattern, **aliases, **wishes.layout}

    if folder is None:
        return Draft(
            f"{name} against {second}, from prediction files",
            tuple(Block(of, block(one.pattern)) for of, one in sets.items()), name, second,
            models=tuple(models),
        )  # fmt: skip
    formats = sorted({Path(one.pattern).name for one in others.values()})
    if len(formats) > 1:
        raise InputError(
            f"the sets have files of several formats: {', '.join(formats)}",
            file=folder,
            remedy="Save all in one format",
        )
    return Draft(
        f"{name} against {counted(len(others), 'set')}, from prediction files",
        (Block(name, block(original.pattern)),), name,
        suite=_suite(folder, name, block(str(folder / "{set}" / formats[0])), others),
        models=tuple(models),
    )  # fmt: skip


def _common_models(sets: Mapping[str, PredictionSet], skip_missing: bool) -> dict[str, str]:
    """Return the models that have files on all sets: what files are named by, by name."""
    known = [set(one.files) for one in sets.values()]
    common, missing = set.intersection(*known), []
    for one in sets.values():
        if absent := sorted(set.union(*known) - set(one.files)):
            missing.append(f"{one.pattern} has no files of {listed(absent)}")
    if not common:
        raise InputError(
            f"no model has files on all sets: {'; '.join(missing)}",
            remedy="The same model needs the same name on both sides",
        )
    if missing and not skip_missing:
        raise InputError(
            f"some models have no files on all sets: {'; '.join(missing)}",
            remedy="Add these files, or leave the models out with --skip-missing",
        )
    names: dict[str, str] = {}
    for model in sorted(common):
        twin = names.setdefault(as_name(model), model)
        if twin != model:
            raise InputError(
                f"models '{twin}' and '{model}' would both be named '{as_name(model)}'",
                remedy="Rename the files",
            )
    return names


@dataclass(frozen=True)
class _Form:
    """What the images of a study have in common, and the models that run on them."""

    space: str
    classes: Sequence[str] | str
    side: int | None
    trains: bool
    catalogue: str
    more_models: str

    @classmethod
    def of(
        cls, original: Images, others: Sequence[Images], wishes: Wishes, *, all_classes: bool
    ) -> "_Form":
        name = common_space([original, *others])
        space = SPACES.get(name)
        classes: Sequence[str] | str = name
        if not name and isinstance(original, ImageSet):
            folders = [one for one in others if isinstance(one, ImageSet)]
            classes = own_classes(original, folders, all_needed=all_classes)
        trains = wishes.train is not None or space is None or bool(space.training)
        catalogue = "images.csv"
        if space is not None and (wishes.train is None or space.training):
            catalogue = space.catalogue
        if wishes.own_models:
            trains, catalogue = wishes.trains, ""
        more = space.all_models if space is not None and space.catalogue == catalogue else ""
        side = wishes.resize
        if side is None and trains:
            sides = {one.side for one in (original, *others) if isinstance(one, ImageSet)}
            side = sides.pop() if len(sides) == 1 and not name else None
            side = side or _SIDE
        return cls(name, classes, side, trains, catalogue, more)

    def block(self, name: str, one: Images) -> Block:
        """Return the block of a set."""
        if isinstance(one, PublishedSet):
            return Block(name, one.block)
        options: dict[str, Any] = {
            "kind": "image_folder", "path": str(one.path), "classes": self.classes,
        }  # fmt: skip
        if self.side is not None:
            options["resize"] = self.side
        notes = [f"{sum(one.classes.values()):,} images"] if one.classes else []
        if one.others:
            options["unreadable"] = "skip"
            notes.append(f"{counted(one.others, 'file')} without the name of an image")
        return Block(name, options, "; ".join(notes))


def _of_images(
    original: Images, others: Mapping[str, Images], folder: Path | None, wishes: Wishes
) -> Draft:
    """Draft a study of sets of images."""
    form = _Form.of(original, [*others.values()], wishes, all_classes=folder is None)
    name, second, suite = _name_of(original), "", None
    if folder is None:
        (other,) = others.values()
        name, second = _distinct(name, _name_of(other))
        blocks = [form.block(name, original), form.block(second, other)]
        title = f"{name} against {second}"
    else:
        blocks = [form.block(name, original)]
        unreadable = max(one.others for one in others.values() if isinstance(one, ImageSet))
        member = form.block("", ImageSet(folder / "{set}", {}, form.side, unreadable)).options
        suite = _suite(folder, name, member, others)
        shown = f"{counted(len(others), 'set')} in the folder {as_name(folder.name)}"
        title = f"{name} against {shown}"
    training = _add_training(name, original, blocks, form, wishes) if form.trains else {}
    return Draft(
        title, tuple(blocks), name, second, suite=suite, training=training,
        catalogue=form.catalogue, more_models=form.more_models,
    )  # fmt: skip


def _name_of(one: Images) -> str:
    return one.name if isinstance(one, PublishedSet) else as_name(one.path.resolve().name)


def _add_training(
    name: str, original: Images, blocks: list[Block], form: _Form, wishes: Wishes
) -> dict[str, str]:
    """Add the sets that models are trained and validated on to `blocks`; return their names."""
    if wishes.train is not None:
        if form.space:
            common_space([original, wishes.train])
        elif isinstance(original, ImageSet):
            own_classes(original, [wishes.train], all_needed=True)
        blocks.insert(0, form.block(f"{name}-train", wishes.train))
        return {"train": f"{name}-train", "validation": name}
    training = SPACES[form.space].training if form.space in SPACES else {}
    if training:
        for of, options in reversed(list(training.values())):
            if all(of != block.name for block in blocks):
                blocks.insert(0, Block(of, options))
        return {key: of for key, (of, _) in training.items()}
    if not isinstance(original, ImageSet):
        raise InputError(
            f"there are no images to train models on for the classes of {form.space}",
            remedy="Name a folder of them with --train",
        )
    return _split(name, original, blocks)


def _split(name: str, original: ImageSet, blocks: list[Block]) -> dict[str, str]:
    """Train on half as many images of each class as the smallest class has, test on the rest."""
    smallest = min(original.classes, key=lambda one: (original.classes[one], one))
    n = original.classes[smallest] // 2
    if n < 1:
        raise InputError(
            f"class '{smallest}' has one image, too few to train on some and to test on others",
            file=original.path,
            remedy="Name a folder of training images with --train, or models with --models",
        )
    options, train = blocks[0].options, f"{name}-train"
    rest = sum(original.classes.values()) - n * len(original.classes)
    blocks[0] = Block(name, {**options, "skip_per_class": n}, f"the other {rest:,} images")
    blocks.insert(
        0, Block(train, {**options, "per_class": n},
                 f"the first {n} images of each class, by the names of their files"),
    )  # fmt: skip
    return {"train": train, "validation": name}


def common_space(sets: Sequence[ImageSet | PublishedSet]) -> str:
    """Return the label space of published sets, or of folders that are named by wnids."""
    spaces = sorted({one.space for one in sets if isinstance(one, PublishedSet)})
    folders = [one for one in sets if isinstance(one, ImageSet)]
    if len(spaces) > 1:
        raise InputError(
            f"the sets have different classes, those of {' and of '.join(spaces)}",
            remedy="Name two sets of the same classes, such as cifar10 and cifar10.1",
        )
    if not spaces and all(_WNID.fullmatch(name) for one in folders for name in one.classes):
        spaces = ["imagenet"]
    if spaces == ["digits"] and folders:
        raise InputError(
            "the published digits are scans of 8 × 8 pixels, which cannot be compared with images "
            "of one's own",
            file=folders[0].path,
        )
    for one in folders if spaces else ():
        if unknown := sorted(set(one.classes) - set(label_space(spaces[0]))):
            raise InputError(
                f"class folders that are no classes of {spaces[0]}: {listed(unknown)}",
                file=one.path,
                remedy=_MAP,
            )
    return next(iter(spaces), "")


def own_classes(original: ImageSet, others: Iterable[ImageSet], *, all_needed: bool) -> list[str]:
    """Return the classes of the original in the order of their labels: numbers as numbers."""
    for other in others:
        here, there = set(original.classes), set(other.classes)
        only = [
            f"only {path} has {listed(sorted(names))}"
            for path, names in ((original.path, here - there), (other.path, there - here))
            if names and (all_needed or path != original.path)
        ]
        if only:
            raise InputError(
                f"the folders have different classes: {'; '.join(only)}", remedy=_MAP
            )  # fmt: skip
    numbers = all(name.isdecimal() for name in original.classes)
    return sorted(original.classes, key=(lambda one: (int(one), one)) if numbers else None)
