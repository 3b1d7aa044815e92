"""Study files with values, keys or bytes changed: each is loaded or refused in one message.

A study that is loaded must be one that the JSON schema allows, the other description of what is
valid, and all files that it makes must have names that a person may type, in its results folder.
"""

import copy
import json
import tempfile
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jsonschema import Draft202012Validator

from fuzz.campaign import Outcome
from matcheval.io.user_files import read_yaml
from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study

ROOT = Path(__file__).parents[2]
_STUDIES = ("config.yaml", "studies/digits-shifts.yaml", "studies/digits-sampling.yaml")
_OWN = """\
study: mine
models: {folder}/models.csv
datasets:
  old: {{kind: predictions, files: "{folder}/old/{{model}}.csv"}}
  new: {{kind: predictions, files: "{folder}/new/{{model}}.csv", columns: {{label: y}},
    classes: [a, b], first_label: 1, aliases: {{m: m}}}}
pairs: {{both: {{original: old, replication: new, source: old}}}}
matching: {{seeds: 3, epsilon: 0.01, save_pairs: [m]}}
replication: {{top: [1]}}
figures: {{formats: [png]}}
"""
_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 10**20, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf"),
    "", " ", "x", "nan", "1", "1e3", "{model}", "{pair}", "..", "../../x", "/", "a b", "a\nb",
    "\x00", "\x1b[31m", "ä", "\ud800", "a" * 300, "digits-known", "all", [], [None], ["x", "x"],
    [[]], {}, {"": 0}, {"a": {"b": {}}}, {"kind": "digits"}, [1, 0],
    {"kind": "predictions", "files": "{model}"},
]  # fmt: skip
_PIECES = [
    b":", b"- ", b"\n", b"\t", b"{", b"}", b"[", b"]", b"&a ", b"*a ", b"!!python/name:os ",
    b"!!binary ", b"? ", b"|", b"\xff", b"\x00", b"'", b'"', b"#", b"<<: ", b"0x", b"1_0",
]  # fmt: skip


def _own(folder: Path) -> str:
    """A study of prediction files, in place."""
    (folder / "models.csv").write_text("name,kind\nm,predictions\n")
    for name in ("old", "new"):
        (folder / name).mkdir()
        (folder / name / "m.csv").touch()
    return _OWN.format(folder=folder)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """All containers in a configuration, with a key or position each."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from _places(node[key])


def _changed(study: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    changed = copy.deepcopy(study)
    for _ in range(rng.integers(1, 3)):
        places = list(_places(changed))
        if not places:
            break
        container, key = places[int(rng.integers(len(places)))]
        value = copy.deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])
        kind = rng.integers(5)
        if kind == 0:
            del container[key]
        elif kind == 1 and isinstance(container, dict):
            container[("x", "kind", 0, None, "", "a" * 200)[int(rng.integers(6))]] = value
        elif kind == 2:
            other, place = places[int(rng.integers(len(places)))]
            container[key] = copy.deepcopy(other[place])
        else:
            container[key] = value
    return changed


def _mutated(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(changed) + 1))
        kind = rng.integers(3)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del changed[at : at + int(rng.integers(1, 20))]
        else:
            changed[at:at] = _PIECES[int(rng.integers(len(_PIECES)))]
    return bytes(changed)


def _is_plain(path: str, results: str) -> bool:
    """Whether the name of a file to make is printable and in the folder of results."""
    inside = Path(path).is_relative_to(results) and ".." not in Path(path).parts
    return inside and path.isprintable() and not set(path) & set("{}\\")


def _loads_rightly(path: Path, validator: Draft202012Validator) -> bool:
    given = read_yaml(path)
    if "study" not in given:  # values that change the default study
        load_study(given, default_study="config.yaml", analyses=ANALYSES)
        return True
    study = load_study(given, default_study="config.yaml", analyses=ANALYSES)
    made = [str(file) for one in study.analyses.values() for file in one.targets]
    made += study.predicting.all_indexes
    if not all(_is_plain(file, study.results) for file in made):
        return False
    # Numbers may be texts, as the command line gives them; the schema, for editors, is stricter.
    texts = [(node, key) for node, key in _places(given) if isinstance(node[key], str)]
    for node, key in texts if not validator.is_valid(given) else ():
        with suppress(ValueError):
            before, node[key] = node[key], float(node[key])
            if validator.is_valid(given):
                break
            node[key] = before
    return validator.is_valid(given)


def outcome(n: int, seed: int) -> Outcome:
    """Load `n` study files."""
    rng = np.random.default_rng(seed)
    found = Outcome("configurations", seed)
    schema = json.loads((ROOT / "rules/schemas/config.schema.json").read_text())
    validator = Draft202012Validator(schema)
    with tempfile.TemporaryDirectory() as name, chdir(ROOT):
        folder = Path(name)
        texts = [*(Path(study).read_text() for study in _STUDIES), _own(folder)]
        texts = [text if "\nstudy:" in f"\n{text}" else f"study: digits\n{text}" for text in texts]
        studies = [yaml.safe_load(text) for text in texts]
        path = folder / "study.yaml"
        for number in range(n):
            which = int(rng.integers(len(texts)))
            if rng.integers(4):
                text = yaml.dump(_changed(studies[which], rng), allow_unicode=True)
                content = text.encode(errors="surrogatepass")
            else:
                content = _mutated(texts[which].encode(), rng)
            path.write_bytes(content)
            changed = _difference(content, yaml.dump(studies[which], allow_unicode=True))
            about = f"number {number}, study {which}: {changed}"
            found.attempt(about, lambda: _loads_rightly(path, validator))
    return found


def _difference(content: bytes, before: str) -> str:
    """The first lines that are new, for a person who looks for the reason."""
    known = set(before.splitlines())
    new = [line for line in content.decode(errors="replace").splitlines() if line not in known]
    return " / ".join(new[:6])[:600]
