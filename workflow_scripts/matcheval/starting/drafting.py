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


def distinct(one: str, two: str) -> tuple[str, str]:
    """Return two names that differ: themselves, or with what they are added."""
    return (one, two) if one.casefold() != two.casefold() else (f"{one}-original", f"{two}-new")


def suite_name(path: Path, base: str) -> str:
    """Return what the sets in a folder are called together."""
    name = as_name(path.resolve().name)
    return name if name.casefold() != base.casefold() else f"{name}-sets"


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
    first_replication: str = ""
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
        return self.first_replication or self.replication

    @property
    def reference(self) -> str:
        """The training set, for scores that need one; empty if there is none."""
        return self.training.get("train", "")

    def renamed(self, prefix: str) -> "Draft":
        """Return the same with names of sets that no other study has."""
        new = {one.name: f"{prefix}-{one.name}" for one in self.datasets}

        suite = self.suite
        if suite is not None:
            member = {**suite.options, "name": f"{prefix}-{suite.options['name']}"}
            if "of" in member["dataset"]:
                member["dataset"] = {**member["dataset"], "of": new[member["dataset"]["of"]]}
            suite = replace(suite, options=member)
        return replace(
            self,
            datasets=tuple(replace(one, name=new[one.name]) for one in self.datasets),
            original=new[self.original],
            replication=new.get(self.replication, ""),
            first_replication=self.replication,
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


def suite_block(folder: Path, base: str, block: Mapping[str, Any], sets: Iterable[str]) -> Block:
    """Return the suite of the sets in a folder."""
    names = list(sets)
    if "{" in str(folder):
        raise InputError(
            "braces stand for parts of names in a suite", file=folder, remedy="Rename the folder"
        )
    for name in names:
        if as_name(name) != name:
            raise InputError(
                f"'{name}' cannot be the name of a set",
                file=folder,
                remedy="Rename the folder: letters, digits, '.', '_' and '-', a letter first",
            )
    member = {"dataset": dict(block), "values": {"set": names}, "name": "{set}"}
    return Block(suite_name(folder, base), member, "these sets; without it, all in the folder")


_WNID = re.compile(r"n\d{8}")
_MAP = "Rename or remove folders; or write the study with `label_map` (docs/datasets.md)"


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


_SIDE = 32  # pixels, of images that are resized
Images = ImageSet | PublishedSet


def pair_of_images(original: Images, other: Images, wishes: Wishes) -> Draft:
    """Draft a study of two sets of images."""
    form = _common_form(original, [other], wishes, all_classes=True)
    names = distinct(_name_of(original), _name_of(other))
    blocks = [
        form.block(name, one) for name, one in zip(names, (original, other), strict=True)
    ]  # fmt: skip
    training = _add_training(names[0], original, blocks, form, wishes)
    return Draft(
        f"{names[0]} against {names[1]}", tuple(blocks), *names,
        training=training, catalogue=_catalogue(form.space, wishes),
        more_models=_more_models(form.space, wishes),
    )  # fmt: skip


def suite_of_images(original: Images, other: SetFolder, wishes: Wishes) -> Draft:
    """Draft a study of a set of images and a folder of further sets."""
    own = original.path.resolve() if isinstance(original, ImageSet) else None
    sets = {
        name: one for name, one in other.sets.items()
        if isinstance(one, ImageSet) and one.path.resolve() != own
    }  # fmt: skip
    if not sets:
        raise InputError("holds no other set than the original", file=other.path)
    form = _common_form(original, [*sets.values()], wishes, all_classes=False)
    name = _name_of(original)
    blocks = [form.block(name, original)]
    training = _add_training(name, original, blocks, form, wishes)
    others = max(one.others for one in sets.values())
    member = form.block("", ImageSet(other.path / "{set}", {}, form.side, others)).options
    return Draft(
        f"{name} against {counted(len(sets), 'set')} in the folder {as_name(other.path.name)}",
        tuple(blocks), name, suite=suite_block(other.path, name, member, sets),
        training=training, catalogue=_catalogue(form.space, wishes),
        more_models=_more_models(form.space, wishes),
    )  # fmt: skip


@dataclass(frozen=True)
class _Form:
    """What all image folders of a study have in common."""

    space: str
    classes: Sequence[str] | str
    side: int | None

    def block(self, name: str, one: Images) -> Block:
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


def _common_form(
    original: Images, others: Sequence[Images], wishes: Wishes, *, all_classes: bool
) -> _Form:
    space = common_space([original, *others])
    classes: Sequence[str] | str = space
    if not space:
        assert isinstance(original, ImageSet)
        folders = [one for one in others if isinstance(one, ImageSet)]
        classes = own_classes(original, folders, all_needed=all_classes)
    return _Form(space, classes, _side([original, *others], space, wishes))


def _side(sets: Sequence[Images], space: str, wishes: Wishes) -> int | None:
    if wishes.resize is not None:
        return wishes.resize
    if not _trains(space, wishes):
        return None
    sides = {one.side for one in sets if isinstance(one, ImageSet)}
    side = sides.pop() if len(sides) == 1 and not space else None
    return _SIDE if side is None else side


def _catalogue(name: str, wishes: Wishes) -> str:
    if wishes.own_models:
        return ""
    space = SPACES.get(name)
    if space is None or (wishes.train is not None and not space.training):
        return "images.csv"
    return space.catalogue


def _more_models(name: str, wishes: Wishes) -> str:
    """Return where a longer catalogue of the same kind is."""
    space = SPACES.get(name)
    return space.all_models if space and space.catalogue == _catalogue(name, wishes) else ""


def _trains(space: str, wishes: Wishes) -> bool:
    """Whether models are trained."""
    if wishes.own_models:
        return wishes.trains
    return wishes.train is not None or space not in SPACES or bool(SPACES[space].training)


def _add_training(
    name: str, original: Images, blocks: list[Block], form: _Form, wishes: Wishes
) -> dict[str, str]:
    """Add the sets that models are trained and validated on to `blocks`; return their names."""
    if not _trains(form.space, wishes):
        return {}
    if wishes.train is not None:
        if form.space:
            common_space([original, wishes.train])
        elif isinstance(original, ImageSet):
            own_classes(original, [wishes.train], all_needed=True)
        blocks.insert(0, form.block(f"{name}-train", wishes.train))
        return {"train": f"{name}-train", "validation": name}
    if not (form.space in SPACES and SPACES[form.space].training):
        if not isinstance(original, ImageSet):
            raise InputError(
                f"there are no images to train models on for the classes of {form.space}",
                remedy="Name a folder of them with --train",
            )
        return _split(name, original, blocks)
    training = SPACES[form.space].training
    for of, options in reversed(list(training.values())):
        if all(of != block.name for block in blocks):
            blocks.insert(0, Block(of, options))
    return {key: of for key, (of, _) in training.items()}


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


def _name_of(one: Images) -> str:
    return one.name if isinstance(one, PublishedSet) else as_name(one.path.resolve().name)


def pair_of_predictions(original: PredictionSet, other: PredictionSet, wishes: Wishes) -> Draft:
    """Draft a study of two sets that models have prediction files on."""
    names = distinct(pattern_name(original.pattern), pattern_name(other.pattern))
    sets = dict(zip(names, (original, other), strict=True))
    models = _common_models(sets, wishes.skip_missing)
    blocks = [Block(name, _block(one.pattern, models, wishes)) for name, one in sets.items()]
    return Draft(
        f"{names[0]} against {names[1]}, from prediction files",
        tuple(blocks), *names, models=tuple(models),
    )  # fmt: skip


def suite_of_predictions(original: PredictionSet, other: SetFolder, wishes: Wishes) -> Draft:
    """Draft a study of a set and a folder of sets that models have prediction files on."""
    own = Path(original.pattern).resolve()
    sets = {
        name: one for name, one in other.sets.items()
        if isinstance(one, PredictionSet) and Path(one.pattern).resolve() != own
    }  # fmt: skip
    if not sets:
        raise InputError("holds no other set than the original", file=other.path)
    name = pattern_name(original.pattern)
    models = _common_models({name: original, **sets}, wishes.skip_missing)
    formats = sorted({Path(one.pattern).name for one in sets.values()})
    if len(formats) > 1:
        raise InputError(
            f"the sets have files of several formats: {', '.join(formats)}",
            file=other.path,
            remedy="Save all in one format",
        )
    block = _block(str(other.path / "{set}" / formats[0]), models, wishes)
    return Draft(
        f"{name} against {counted(len(sets), 'set')}, from prediction files",
        (Block(name, _block(original.pattern, models, wishes)),), name,
        suite=suite_block(other.path, name, block, sets), models=tuple(models),
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


def _block(pattern: str, models: Mapping[str, str], wishes: Wishes) -> dict[str, Any]:
    renamed = {name: file for name, file in models.items() if name != file}
    aliases = {"aliases": renamed} if renamed else {}
    return {"kind": "predictions", "files": pattern, **aliases, **wishes.layout}


def draft_study(original: Given, other: Given, wishes: Wishes) -> Draft:
    """Decide what a study of two sets, or of a set and a folder of sets, consists of."""
    if isinstance(original, SetFolder):
        raise InputError(
            f"holds several sets: {listed(original.sets)}",
            file=original.path,
            remedy="Name the original first, and then the folder of the other sets: "
            f"{original.path / next(iter(original.sets))} {original.path}",
        )
    if _is_same(original, other):
        raise InputError("the original would be compared with itself", remedy="Name another set")
    for one in (original, other):
        if wishes.train is not None and _is_same(wishes.train, one):
            raise InputError(
                "is a test set, too: models would be tested on the images that they learned from",
                file=wishes.train.path,
                field="--train",
                remedy="Name other images",
            )
    others = list(other.sets.values()) if isinstance(other, SetFolder) else [other]
    if isinstance(original, PredictionSet):
        if isinstance(other, PredictionSet):
            return pair_of_predictions(original, other, wishes)
        if isinstance(other, SetFolder) and isinstance(others[0], PredictionSet):
            return suite_of_predictions(original, other, wishes)
    elif not isinstance(others[0], PredictionSet):
        if isinstance(other, SetFolder):
            return suite_of_images(original, other, wishes)
        if not isinstance(other, PredictionSet):
            return pair_of_images(original, other, wishes)
    raise InputError(
        "one of the two is prediction files, the other images",
        remedy="Give images for both sets, or predictions of the same models on both",
    )


def _is_same(one: Given, other: Given) -> bool:
    return _place(one) == _place(other)


def _place(one: Given) -> object:
    """Return what tells sets apart: where they lie, or what they are."""
    if isinstance(one, PublishedSet):
        return one
    return Path(one.pattern if isinstance(one, PredictionSet) else one.path).resolve()
