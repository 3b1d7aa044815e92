"""Drafts of studies of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.starting.drafts import Block, Draft, Wishes, suite_block
from matcheval.starting.looking import ImageSet, SetFolder
from matcheval.starting.names import as_name, distinct
from matcheval.starting.published import SPACES, PublishedSet
from matcheval.starting.shared_classes import common_space, own_classes

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
