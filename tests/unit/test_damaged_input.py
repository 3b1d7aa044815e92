"""Random damage to what people and servers give: it is read rightly, or refused in one message.

MATCHEVAL_EXAMPLES=10000 makes a campaign of it.
"""

import argparse
import copy
import hashlib
import io
import json
import os
import pickle
import pickletools
from contextlib import chdir, contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from safetensors.numpy import save

from damage import damaged
from matcheval.cli.options import arguments_of
from matcheval.datasets.sources import load_plain_pickle
from matcheval.downloads import fetching
from matcheval.downloads.fetching import download
from matcheval.downloads.sources import Expected
from matcheval.errors import InputError
from matcheval.io.user_files import read_yaml
from matcheval.predictions.files import read_predictions
from matcheval.predictions.inputs import layout_of
from matcheval.predictions.softmax import softmax
from servers import serving
from studies import ROOT, load

examples = settings(
    max_examples=int(os.environ.get("MATCHEVAL_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
randoms = given(random=st.randoms(use_true_random=False))


@contextmanager
def read_or_refused():
    """Let pass the one kind of error that is a message; all others, and wrong values, fail."""
    try:
        yield
        event("right")
    except InputError:
        event("refused")


VALUES = (
    {b"data": np.arange(60, dtype=np.uint8).reshape(4, 15), b"labels": [0], b"names": [b"x"]},
    np.array(["a", "bc"]), np.array(["a", None, 3], object), np.zeros((2, 0, 3), ">f4"),
    [1, 2.5, True, ("x", b"y"), {"z": 10**30}],
)  # fmt: skip
PICKLES = [pickle.dumps(value, protocol) for value in VALUES for protocol in range(5)]
INSTRUCTIONS = [
    *(code.code.encode("latin-1") for code in pickletools.opcodes),
    *(b"c%s\n%s\n" % tuple(name.split()) for name in (
        b"numpy ndarray", b"numpy dtype", b"numpy.core.multiarray _reconstruct",
        b"numpy._core.multiarray _reconstruct", b"_codecs encode",
    )),
    b"\x8a\x08" + b"\xff" * 7 + b"\x7f",  # a long, 2^63 - 1
    b"J\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f", b"K\x03", b"X\x02\x00\x00\x00f8", b"U\x02O8",
    b"U\x08" + b"A" * 8,
]  # fmt: skip


@examples
@randoms
def test_pickles(random):
    """A pickle has no checksum: any value is right, whose arrays can be touched."""
    with read_or_refused():
        content = damaged(random.choice(PICKLES), INSTRUCTIONS, random)
        repr(load_plain_pickle(io.BytesIO(content), "p"))


N_ROWS, CLASSES = 40, ("ant", "bee", "cow", "dog")
BAD_CELLS = {
    "label": ["", "nan", "-1", "0.5", "40000", "1e99", "\x00", "inf", "[1]"],
    "prediction": ["", "nan", "-7", "1.25", "99999999999999999999", "NULL"],
    "probability": ["", "nan", "-0.25", "1.5", "101", "inf", "1,5", "high"],
    "index": ["-1", "0.5", "3000000000", "nan", ""],
}


def predictions(random):
    """A table in one of the many ways to write predictions, the meaning, and how it is read."""
    rng = np.random.default_rng(random.randint(0, 2**32))
    logits = rng.normal(0, 2, (N_ROWS, len(CLASSES))).astype(np.float32)
    label, probabilities = rng.integers(0, len(CLASSES), N_ROWS), softmax(logits)
    meant = {"label": label, "prediction": logits.argmax(1), "probability": probabilities.max(1)}
    coin = [random.choice([False, True]) for _ in range(5)]
    first = random.choice([0, 1])
    names = np.array(CLASSES) if coin[0] else np.arange(len(CLASSES)) + first
    table = pd.DataFrame({"label": names[label]})
    form = random.choice(["plain", "prob_", "logit_"])
    if form == "plain":
        table["prediction"], table["probability"] = names[meant["prediction"]], meant["probability"]
    else:
        table[[f"{form}{name}" for name in names]] = probabilities if form == "prob_" else logits
    if coin[1]:
        table = table.assign(index=range(N_ROWS)).sample(frac=1, random_state=first)
    if coin[2]:
        table["image"] = [f"image {i}.png" for i in range(N_ROWS)]
    if coin[3]:
        table = table.rename(columns={"label": "truth"})
    elif coin[4]:
        table = table.rename(columns=lambda name: name if "_" in name else name.title())
    options = {"columns": ["label=truth"] if coin[3] else [], "classes": coin[0] or None,
               "first_label": 0 if coin[0] else first}  # fmt: skip
    return table[random.sample(list(table), len(table.columns))], meant, options


def write(table, path):
    match path.suffix:
        case ".json" | ".jsonl":
            table.to_json(path, orient="records", lines=path.suffix == ".jsonl")
        case ".parquet":
            table.to_parquet(path)
        case ".npz":
            np.savez(path, **{name: np.array(table[name].tolist()) for name in table})
        case _:
            table.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)


@pytest.mark.parametrize("damage", ["none", "cell"])
@examples
@randoms
def test_prediction_files(tmp_path, damage, random):
    """As written, what is read is what was meant; a cell that cannot be valid is refused."""
    formats = ["csv", "tsv", "csv.gz", *(["json", "jsonl", "parquet", "npz"] * (damage != "cell"))]
    path, classes = tmp_path / f"p.{random.choice(formats)}", tmp_path / "classes.txt"
    classes.write_text("\n".join(CLASSES))
    table, meant, options = predictions(random)
    if damage == "cell":
        key = random.choice([key for key in table if key.lower() in {*BAD_CELLS, "truth"}])
        table = table.astype({key: str})
        bad = random.choice(BAD_CELLS["label" if key == "truth" else key.lower()])
        table.iloc[random.randint(0, N_ROWS - 1), list(table).index(key)] = bad
    write(table, path)
    if options["classes"]:
        options["classes"] = str(classes)
    else:
        del options["classes"]
    with nullcontext() if damage == "none" else read_or_refused():
        given = argparse.Namespace(**options, labels_are_true=False)
        layout = layout_of([path], **arguments_of(layout_of, given))
        found = read_predictions(path, layout)
        assert damage != "cell"
    if damage == "none":
        assert np.array_equal(found.label, meant["label"])
        assert np.array_equal(found.prediction, meant["prediction"])
        np.testing.assert_allclose(found.probability, meant["probability"], atol=2e-6)


OWN = """\
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
SETTINGS = [
    None, True, False, 0, 1, -1, 2, 10**20, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf"),
    "", " ", "x", "nan", "{model}", "{pair}", "..", "../../x", "/", "a b", "a\nb",
    "\x00", "\x1b[31m", "ä", "\ud800", "a" * 300, "digits-known", "all", [], [None], ["x", "x"],
    [[]], {}, {"": 0}, {"a": {"b": {}}}, {"kind": "digits"}, [1, 0],
    {"kind": "predictions", "files": "{model}"},
]  # fmt: skip
YAML = [
    b":", b"- ", b"\n", b"\t", b"{", b"}", b"[", b"]", b"&a ", b"*a ", b"!!python/name:os ",
    b"!!binary ", b"? ", b"|", b"\xff", b"\x00", b"'", b'"', b"#", b"<<: ", b"0x", b"1_0",
]  # fmt: skip


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Texts of study files whose files are there."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "models.csv").write_text("name,kind\nm,predictions\n")
    for name in ("old", "new"):
        (folder / name).mkdir()
        (folder / name / "m.csv").touch()
    names = ("config.yaml", "studies/digits-shifts.yaml", "studies/digits-sampling.yaml")
    return [OWN.format(folder=folder), *((ROOT / name).read_text() for name in names)]


def places(node):
    """All containers in a configuration, with a key or position each."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def change(study, random):
    """Delete, replace or add a value anywhere in a study."""
    (container, key), (other, place) = random.choices(list(places(study)), k=2)
    value = copy.deepcopy(random.choice([*SETTINGS, other[place]]))
    match random.choice(["delete", "add", "replace", "replace"]):
        case "delete":
            del container[key]
        case "add" if isinstance(container, dict):
            container[random.choice(["x", "kind", 0, None, "", "a" * 200])] = value
        case _:
            container[key] = value


SCHEMA = json.loads((ROOT / "rules/schemas/config.schema.json").read_text())


@pytest.mark.parametrize("damage", ["values", "bytes"])
@examples
@randoms
def test_study_files(studies, tmp_path, damage, random):
    """A study that loads is one that the schema allows, and its files have plain names."""
    path, text = tmp_path / "study.yaml", random.choice(studies)
    if damage == "values":
        study = {"study": "digits"} | yaml.safe_load(text)
        change(study, random)
        content = yaml.dump(study, allow_unicode=True).encode(errors="surrogatepass")
    else:
        content = damaged(text.encode(), YAML, random)
    path.write_bytes(content)
    with read_or_refused(), chdir(ROOT):
        study = load(read_yaml(path))
        made = [file for one in study.analyses.values() for file in one.targets]
        models = study.predicting.models
        for name in study.predicting.datasets:
            made += study.results_inputs(name, models)
        for file in map(str, made):
            assert Path(file).is_relative_to(study.results)
            assert ".." not in Path(file).parts
            assert file.isprintable()
            assert not set(file) & set("{}\\")
        if damage == "values":  # in damaged bytes a number may become a text, which is read as well
            assert Draft202012Validator(SCHEMA).is_valid(read_yaml(path))


@examples
@randoms
def test_downloads(tmp_path_factory, server, random):
    """After any sequence of faults there is the complete file or none; a message tells which."""
    rng = np.random.default_rng(random.randint(0, 2**32))
    path = tmp_path_factory.mktemp("download") / "data.safetensors"
    content = save({"values": rng.integers(0, 256, 4000, dtype=np.uint8)})
    n = random.randint(0, len(content))
    server.files = {path.name: content}
    server.etags, server.lengths = random.choice([False, True]), random.random() < 0.75
    server.failures[path.name] = random.choices(
        [
            ("cut", n), ("cut", 0), ("no ranges",), ("bytes", content[::-1]), ("bytes", b""),
            ("bytes", content[:n]), ("bytes", content + b"more"), ("bytes", b"<!DOCTYPE html>"),
            ("status", random.choice([404, 403, 416, 429, 500, 503])), (None,),
            ("status", 503, {"Retry-After": random.choice(["1", "²", "-5", "soon", "1e9", ""])}),
            ("status", 302, {"Location": random.choice(["/nowhere", "", "http://", "ftp://x/y"])}),
        ],
        k=random.randint(0, 6),
    )  # fmt: skip
    if random.random() < 0.3:  # an earlier process's part, perhaps of another version
        part = random.choice([content, content[::-1]])[: random.randint(0, len(content))]
        path.with_name(f"{path.name}.part").write_bytes(part)
    sha256 = hashlib.sha256(content).hexdigest()
    known = random.choice([Expected(sha256), Expected(size=len(content)), Expected()])
    without_waits = patch.multiple(fetching, ATTEMPTS=random.randint(1, 5), sleep=lambda _: None)
    with read_or_refused(), without_waits:
        download(server.url(path.name), path, known, hours=0.01)
        assert path.exists()
    assert not path.exists() or path.read_bytes() == content


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server
