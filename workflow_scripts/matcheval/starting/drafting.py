"""From what a person has to what a study of it consists of."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from matcheval.datasets.label_spaces import label_space
from matcheval.errors import InputError, listed
from matcheval.io.text_tables import counted
from matcheval.names import MAX_NAME_LENGTH
from matcheval.starting import looking
from matcheval.starting.looking import Given, ImageSet, PredictionSet, PublishedSet, SetFolder

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
    pair: str = ""
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
        return self.pair or self.replication

    @property
    def reference(self) -> str:
        """The training set, for scores that need one; empty if there is none."""
        return self.training.get("train", "")

    def renamed(self, prefix: str) -> "Draft":
        """Return the same with names of sets that no other study has."""
        roles = {self.training.get(role, ""): role for role in ("validation", "train")}
        roles |= {self.replication: "replication", self.original: "original"}
        if not {self.original, self.replication} & {*prefix.split("-"), prefix}:
            roles = {}  # of a study whose name does not repeat theirs, sets keep their names

        def new(name: str) -> str:
            return f"{prefix}-{roles.get(name, name)}" if name else ""

        suite = self.suite
        if suite is not None:
            dataset = suite.options["dataset"]
            if "of" in dataset:
                dataset = {**dataset, "of": new(dataset["of"])}
            member = {**suite.options, "dataset": dataset, "name": new(suite.options["name"])}
            suite = replace(suite, options=member)
        return replace(
            self, datasets=tuple(replace(one, name=new(one.name)) for one in self.datasets),
            original=new(self.original), replication=new(self.replication), prefix=f"{prefix}-",
            suite=suite, training={key: new(name) for key, name in self.training.items()},
            pair=self.pair_name,
        )  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What a person adds to what can be seen."""

    train: ImageSet | None = None
    models_train: bool | None = None  # of a custom catalogue; None without one
    resize: int | None = None
    skip_missing: bool = False
    layout: Mapping[str, Any] = field(default_factory=dict)


def draft_study(original: Given, other: Given, wishes: Wishes) -> Draft:
    """Decide what a study of two sets, or of a set and a folder of sets, consists of."""
    if isinstance(original, SetFolder):
        first = original.path / next(iter(original.sets))
        raise InputError(
            f"holds several sets: {listed(original.sets)}", file=original.path,
            remedy="Name the original first, and then the folder of the other sets: "
            f"{first} {original.path}",
        )  # fmt: skip
    if _place(original) == _place(other):
        raise InputError("the original would be compared with itself", remedy="Name another set")
    if wishes.train is not None and _place(wishes.train) in (_place(original), _place(other)):
        problem = "is a test set, too: models would be tested on the images that they learned from"
        file = wishes.train.path
        raise InputError(problem, file=file, field="--train", remedy="Name other images")
    name, sets = _name_of(original), dict[str, Given]()
    folder = other.path if isinstance(other, SetFolder) else None
    if isinstance(other, SetFolder):
        sets |= {n: one for n, one in other.sets.items() if _place(one) != _place(original)}
        if not sets:
            raise InputError("holds no other set than the original", file=folder)
    else:
        second = _name_of(other)
        if name.casefold() == second.casefold():
            name, second = f"{name}-original", f"{second}-new"
        sets = {second: other}
    of_files = isinstance(original, PredictionSet)
    if any(isinstance(one, PredictionSet) != of_files for one in sets.values()):
        raise InputError(
            "one of the two is prediction files, the other images",
            remedy="Give images for both sets, or predictions of the same models on both",
        )
    if isinstance(original, PredictionSet):
        files = {n: one for n, one in sets.items() if isinstance(one, PredictionSet)}
        return _of_predictions(name, original, files, folder, wishes)
    images = {n: one for n, one in sets.items() if isinstance(one, ImageSet | PublishedSet)}
    return _of_images(name, original, images, folder, wishes)


def _place(one: Given) -> object:
    """Return what tells sets apart: where they lie, or what they are."""
    if isinstance(one, PublishedSet):
        return one
    return Path(one.pattern if isinstance(one, PredictionSet) else one.path).resolve()


def _name_of(one: Given) -> str:
    if isinstance(one, PublishedSet):
        return one.name
    if isinstance(one, PredictionSet):
        return pattern_name(one.pattern)
    return as_name(one.path.resolve().name)


def _suite(folder: Path, base: str, block: Mapping[str, Any], sets: Iterable[str]) -> Block:
    """Return the suite of the sets in a folder."""
    if "{" in str(folder):
        problem = "braces stand for parts of names in a suite"
        raise InputError(problem, file=folder, remedy="Rename the folder")
    if strange := [name for name in sets if as_name(name) != name]:
        raise InputError(
            f"'{strange[0]}' cannot be the name of a set", file=folder,
            remedy="Rename the folder: letters, digits, '.', '_' and '-', a letter first",
        )  # fmt: skip
    suite = as_name(folder.resolve().name)
    if suite.casefold() == base.casefold():
        suite = f"{suite}-sets"
    member = {"dataset": dict(block), "values": {"set": [*sets]}, "name": "{set}"}
    return Block(suite, member, "these sets; without it, all in the folder")


def _of_predictions(
    name: str,
    original: PredictionSet,
    others: Mapping[str, PredictionSet],
    folder: Path | None,
    wishes: Wishes,
) -> Draft:
    """Draft a study of sets that models have prediction files on."""
    models = _common_models([original, *others.values()], wishes.skip_missing)
    aliases = {model: file for model, file in models.items() if model != file}

    def block(pattern: str) -> dict[str, Any]:
        names = {"aliases": aliases} if aliases else {}
        return {"kind": "predictions", "files": pattern, **names, **wishes.layout}

    first = Block(name, block(original.pattern))
    if folder is None:
        ((second, other),) = others.items()
        return Draft(
            f"{name} against {second}, from prediction files",
            (first, Block(second, block(other.pattern))), name, second, models=tuple(models),
        )  # fmt: skip
    formats = sorted({Path(one.pattern).name for one in others.values()})
    if len(formats) > 1:
        problem = f"the sets have files of several formats: {', '.join(formats)}"
        raise InputError(problem, file=folder, remedy="Save all in one format")
    return Draft(
        f"{name} against {counted(len(others), 'set')}, from prediction files", (first,), name,
        suite=_suite(folder, name, block(str(folder / "{set}" / formats[0])), others),
        models=tuple(models),
    )  # fmt: skip


def _common_models(sets: Sequence[PredictionSet], skip_missing: bool) -> dict[str, str]:
    """Return the models that have files on all sets: what files are named by, by name."""
    models = [set(one.files) for one in sets]
    common = set.intersection(*models)
    missing = "; ".join(
        f"{one.pattern} has no files of {listed(absent)}"
        for one in sets
        if (absent := sorted(set.union(*models) - set(one.files)))
    )
    if not common:
        remedy = "The same model needs the same name on both sides"
        raise InputError(f"no model has files on all sets: {missing}", remedy=remedy)
    if missing and not skip_missing:
        remedy = "Add these files, or leave the models out with --skip-missing"
        raise InputError(f"some models have no files on all sets: {missing}", remedy=remedy)
    names: dict[str, str] = {}
    for model in sorted(common):
        twin = names.setdefault(as_name(model), model)
        if twin != model:
            problem = f"models '{twin}' and '{model}' would both be named '{as_name(model)}'"
            raise InputError(problem, remedy="Rename the files")
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
        name = _common_space([original, *others])
        space = looking.SPACES.get(name)
        folders = [one for one in (original, *others) if isinstance(one, ImageSet)]
        classes: Sequence[str] | str = name
        if not name and isinstance(original, ImageSet):
            classes = _own_classes(original, folders[1:], all_needed=all_classes)
        trains = wishes.train is not None or space is None or bool(space.training)
        catalogue = "images.csv"
        if space is not None and (wishes.train is None or space.training):
            catalogue = space.catalogue
        if wishes.models_train is not None:
            trains, catalogue = wishes.models_train, ""
        more = space.all_models if space is not None and space.catalogue == catalogue else ""
        side = wishes.resize
        if side is None and trains:
            sides = {one.side for one in folders}
            side = (sides.pop() if len(sides) == 1 and not name else None) or _SIDE
        return cls(name, classes, side, trains, catalogue, more)

    def block(self, name: str, one: Images) -> Block:
        """Return the block of a set."""
        if isinstance(one, PublishedSet):
            return Block(name, one.block)
        options: dict[str, Any] = {"kind": "image_folder", "path": str(one.path)}
        options["classes"] = self.classes
        if self.side is not None:
            options["resize"] = self.side
        notes = [f"{sum(one.classes.values()):,} images"] if one.classes else []
        if one.others:
            options["unreadable"] = "skip"
            notes.append(f"{counted(one.others, 'file')} without the name of an image")
        return Block(name, options, "; ".join(notes))


def _of_images(
    name: str, original: Images, others: Mapping[str, Images], folder: Path | None, wishes: Wishes
) -> Draft:
    """Draft a study of sets of images."""
    form = _Form.of(original, [*others.values()], wishes, all_classes=folder is None)
    blocks, second, suite = [form.block(name, original)], "", None
    if folder is None:
        ((second, other),) = others.items()
        blocks.append(form.block(second, other))
        shown = second
    else:
        unreadable = max(one.others for one in others.values() if isinstance(one, ImageSet))
        member = form.block("", ImageSet(folder / "{set}", {}, form.side, unreadable)).options
        suite = _suite(folder, name, member, others)
        shown = f"{counted(len(others), 'set')} in the folder {as_name(folder.name)}"
    training = _add_training(name, original, blocks, form, wishes) if form.trains else {}
    return Draft(
        f"{name} against {shown}", tuple(blocks), name, second, suite=suite, training=training,
        catalogue=form.catalogue, more_models=form.more_models,
    )  # fmt: skip


def _add_training(
    name: str, original: Images, blocks: list[Block], form: _Form, wishes: Wishes
) -> dict[str, str]:
    """Add the sets that models are trained and validated on to `blocks`; return their names."""
    train = f"{name}-train"
    if wishes.train is not None:
        if form.space:
            _common_space([original, wishes.train])
        elif isinstance(original, ImageSet):
            _own_classes(original, [wishes.train], all_needed=True)
        blocks.insert(0, form.block(train, wishes.train))
        return {"train": train, "validation": name}
    training = looking.SPACES[form.space].training if form.space else {}
    if training:
        there = {block.name for block in blocks}
        blocks[:0] = [Block(of, opts) for of, opts in training.values() if of not in there]
        return {key: of for key, (of, _) in training.items()}
    if not isinstance(original, ImageSet):
        problem = f"there are no images to train models on for the classes of {form.space}"
        raise InputError(problem, remedy="Name a folder of them with --train")
    # Train on half as many images of each class as the smallest class has, test on the rest.
    smallest = min(original.classes, key=lambda one: (original.classes[one], one))
    n = original.classes[smallest] // 2
    if n < 1:
        raise InputError(
            f"class '{smallest}' has one image, too few to train on some and to test on others",
            file=original.path,
            remedy="Name a folder of training images with --train, or models with --models",
        )
    options, rest = blocks[0].options, sum(original.classes.values()) - n * len(original.classes)
    first = f"the first {n} images of each class, by the names of their files"
    blocks[:1] = [
        Block(train, {**options, "per_class": n}, first),
        Block(name, {**options, "skip_per_class": n}, f"the other {rest:,} images"),
    ]
    return {"train": train, "validation": name}


def _common_space(sets: Sequence[Images]) -> str:
    """Return the label space of published sets, or of folders that are named by wnids."""
    spaces = sorted({one.space for one in sets if isinstance(one, PublishedSet)})
    folders = [one for one in sets if isinstance(one, ImageSet)]
    if len(spaces) > 1:
        problem = f"the sets have different classes, those of {' and of '.join(spaces)}"
        remedy = "Name two sets of the same classes, such as cifar10 and cifar10.1"
        raise InputError(problem, remedy=remedy)
    if not spaces and all(_WNID.fullmatch(name) for one in folders for name in one.classes):
        spaces = ["imagenet"]
    if spaces == ["digits"] and folders:
        raise InputError(
            "the published digits are scans of 8 × 8 pixels, which cannot be compared with images "
            "of one's own", file=folders[0].path,
        )  # fmt: skip
    for one in folders if spaces else ():
        if unknown := sorted(set(one.classes) - set(label_space(spaces[0]))):
            problem = f"class folders that are no classes of {spaces[0]}: {listed(unknown)}"
            raise InputError(problem, file=one.path, remedy=_MAP)
    return next(iter(spaces), "")


def _own_classes(original: ImageSet, others: Iterable[ImageSet], *, all_needed: bool) -> list[str]:
    """Return the classes of the original in the order of their labels: numbers as numbers."""
    for other in others:
        here, there = set(original.classes), set(other.classes)
        only = [
            f"only {path} has {listed(sorted(names))}"
            for path, names in ((original.path, here - there), (other.path, there - here))
            if names and (all_needed or path != original.path)
        ]
        if only:
            problem = f"the folders have different classes: {'; '.join(only)}"
            raise InputError(problem, remedy=_MAP)
    numbers = all(name.isdecimal() for name in original.classes)
    return sorted(original.classes, key=(lambda one: (int(one), one)) if numbers else None)
