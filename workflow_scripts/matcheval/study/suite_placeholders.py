"""Placeholders in blocks of a suite, such as `{severity}`, and what files they stand for."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from matcheval.errors import InputError, unknown_name_error
from matcheval.study.suite_settings import SuiteMember

Place = dict[str, str]  # where a member is: `file`, and perhaps `field`

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_MODEL = "model"  # placeholder that prediction files keep


def values_of_placeholders(member: SuiteMember, place: Place) -> list[dict[str, str]]:
    """Return the values of the placeholders of a block, for every dataset that it stands for."""
    assert isinstance(member.dataset, dict)
    texts = [text for text in _texts(member.dataset) if _placeholders(text)]
    names = list(dict.fromkeys(name for text in texts for name in _placeholders(text)))
    unused = sorted(set(member.values) - set(names))
    if unused:
        raise InputError(
            f"values of '{unused[0]}', which is no placeholder of the block",
            **place,
        )
    filled = (member.name, member.group, member.subgroup, member.severity, member.all_labels)
    for text in (str(one or "") for one in filled):
        unknown = [name for name in _placeholders(text) if name not in names]
        if unknown:
            raise unknown_name_error("placeholder", unknown[0], names, **place)
    given = {name: tuple(map(str, member.values[name])) for name in names if name in member.values}
    if len(given) == len(names):
        return [dict(zip(given, each, strict=True)) for each in product(*given.values())]
    patterns = [text for text in texts if set(_placeholders(text)) == set(names)]
    found = next((matches for text in patterns if (matches := _matches(text, given))), [])
    if texts and not found:
        raise InputError(
            f"no file or folder matches {texts[0]}",
            **place,
            remedy="Put the files there, correct the pattern, or list the 'values' of its "
            "placeholders",
        )
    for name, wanted in given.items():
        absent = [value for value in wanted if all(one[name] != value for one in found)]
        if absent:
            raise InputError(
                f"no file or folder matches {texts[0]} with '{absent[0]}' for '{name}'", **place
            )
    return found or [{}]


def _matches(pattern: str, given: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Return the placeholders' values, in natural order, in all paths that match a pattern."""
    parts = re.split(r"(\{[A-Za-z_]\w*\})", str(Path(pattern).expanduser()))
    expression, glob, seen = "", "", set()
    for part in parts:
        name = part[1:-1]
        if not _PLACEHOLDER.fullmatch(part):
            expression, glob = expression + re.escape(part), glob + _escaped(part)
            continue
        glob += "*"
        if name == _MODEL:
            expression += "[^/]+"
        else:
            expression += f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+)"
            seen.add(name)
    anchor = Path(Path(glob).anchor or ".")
    files = anchor.glob(str(Path(glob).relative_to(Path(glob).anchor or ".")))
    matches = (re.fullmatch(expression, str(file)) for file in files)
    values = {tuple(match.groupdict().items()) for match in matches if match}
    shown = [one for one in values if not any(value.startswith(".") for _, value in one)]
    kept = [dict(one) for one in shown if all(v in given.get(k, (v,)) for k, v in one)]
    return sorted(kept, key=lambda one: [_natural(value) for value in one.values()])


def _escaped(text: str) -> str:
    """Escape what has a meaning in a glob pattern."""
    return re.sub(r"([*?\[])", r"[\1]", text)


def _natural(text: str) -> list[tuple[int, int | str]]:
    """Sorting key by which 10 comes after 9."""
    parts = re.split(r"(\d+)", text)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]


def _placeholders(text: str) -> list[str]:
    return [name for name in _PLACEHOLDER.findall(text) if name != _MODEL]


def _texts(block: Any) -> Iterator[str]:
    """Yield all texts in a block."""
    if isinstance(block, str):
        yield block
    elif isinstance(block, Mapping):
        for value in block.values():
            yield from _texts(value)
    elif isinstance(block, list | tuple):
        for value in block:
            yield from _texts(value)


def filled(block: Any, values: Mapping[str, str]) -> Any:
    """Fill in the placeholders of all texts in a block."""
    if isinstance(block, str):
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), block)
    if isinstance(block, Mapping):
        return {key: filled(value, values) for key, value in block.items()}
    if isinstance(block, list | tuple):
        return [filled(value, values) for value in block]
    return block
