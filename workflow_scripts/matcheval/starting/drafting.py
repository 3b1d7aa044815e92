"""From what a person has to what a study of it consists of."""

from pathlib import Path

from matcheval.errors import InputError
from matcheval.starting.drafts import Draft, Wishes
from matcheval.starting.looking import Given, PredictionSet, SetFolder
from matcheval.starting.names import listed
from matcheval.starting.of_images import pair_of_images, suite_of_images
from matcheval.starting.of_predictions import pair_of_predictions, suite_of_predictions
from matcheval.starting.published import PublishedSet


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
