"""Drafts of studies of prediction files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matcheval.errors import InputError
from matcheval.io.text_tables import counted
from matcheval.starting.drafts import Block, Draft, Wishes, suite_block
from matcheval.starting.looking import PredictionSet, SetFolder
from matcheval.starting.names import as_name, distinct, listed, pattern_name


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
