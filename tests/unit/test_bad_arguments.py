"""What a person may mistype, or have damaged: one line that says what to do, and no traceback."""

import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows

FINE = "label,prediction,probability\n" + "".join(
    f"{i % 3},{i % 3},0.{i % 9}5\n" for i in range(60)
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with two good files and some that cannot be read."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(FINE)
    (tmp_path / "latin.csv").write_bytes("label,prediction,probäbility\n0,0,.5\n".encode("latin-1"))
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "folder.csv").mkdir()
    np.savez(tmp_path / "single.npz", labels=np.array(3), logits=np.ones((3, 3)))
    with zipfile.ZipFile(tmp_path / "raw.npz", "w") as archive:
        archive.writestr("labels", "0, 1, 2")
    table = pa.table({"label": [0], "prediction": [0], "probability": [0.5]})
    long = table.replace_schema_metadata({"n_classes": "9" * 5000})
    pq.write_table(long, tmp_path / "classes.parquet")
    pq.write_table(table.replace_schema_metadata({"model": "m" * 300}), tmp_path / "name.parquet")
    return tmp_path


def error_of(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    message = capsys.readouterr().err
    assert caught.value.code == 1
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    return message


DEEP = "[" * 100_000
LONG, NUL = "x" * 300 + ".csv", "a\0b.csv"
INPUTS = {
    "latin.csv": "column probability missing; found label (int64), prediction (int64), probä",
    "loop.csv": "no such file: it is a link to nothing, or to itself",
    "folder.csv": "is a folder",
    "single.npz": "'labels': is a single value, not an array",
    "raw.npz": "'labels': has no array 'labels'",
    "classes.parquet": "99999999999999999999... classes. Give a number from 1",
    LONG: "no such file (File name too long)",
    NUL: "a\\x00b.csv: no such file",
}


@pytest.mark.parametrize(("name", "message"), INPUTS.items(), ids=range(len(INPUTS)))
def test_inputs(here, capsys, name, message):
    for arguments in (["compare", name, "b.csv"], ["compare", "a.csv", name],
                      ["match", "a.csv", name, "--output", "r"],
                      ["predict-accuracy", name, "b.csv"], ["predict-accuracy", "a.csv", name],
                      ["predict-accuracy", "a.csv", "b.csv", "--calibrate-on", name]):  # fmt: skip
        assert message in error_of(capsys, *arguments)
    assert not (here / "r" / "runs.csv").exists()


OUTPUTS = {
    "x" * 300: "cannot be written (File name too long)",
    NUL.removesuffix(".csv"): "no file can have this name",
    "/dev/null/x": "cannot be written (Not a directory)",
    "a.csv/x": "cannot be written",
    "read": "runs.csv: is read, and would be overwritten",
}


@pytest.mark.parametrize(("name", "message"), OUTPUTS.items(), ids=range(len(OUTPUTS)))
def test_outputs(here, capsys, name, message):
    """Pairs cannot be written: nor are runs, before that is known."""
    (here / "read").mkdir()
    (here / "read/runs.csv").write_text(FINE)
    assert message in error_of(capsys, "match", "a.csv", "read/runs.csv", "--output", name)
    assert (here / "a.csv").read_text() == (here / "read/runs.csv").read_text() == FINE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "--output", "r.csv"], "r.csv: looks like a file, and --output is a folder"),
        (["compare", "--output", "a.csv"], "cannot be written"),
        (["compare", "--seeds", "1" + "0" * 20], "0. Give 1 to 10,000"),
        (["compare", "--model", "m\0"], "is not printable or too long. Give the model a name"),
        (["predict-accuracy", "--resamples", "1" + "0" * 20], ". Give 0 to 1,000,000"),
        (["compare", "--classes", "folder.csv"], "--classes takes a number"),
        (["duplicates", "--file", "near.csv", "--neighbours", "0"], "--neighbours is 0. Give at"),
        (["duplicates", "--file", "near.csv", "--sheet", "x.gif"], "cannot save '.gif' figures"),
    ],
)
def test_options(here, capsys, arguments, message):
    command, *options = arguments
    assert message in error_of(capsys, command, "a.csv", "b.csv", *options)
    assert (here / "a.csv").read_text() == FINE
    assert not (here / "r" / "runs.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("simulate --seed -1", "'seed'"),
        ("simulate --assignments 0", "'assignments'"),
        ("allocate counts.json --one-per 2 --top-keywords 0", "--top-keywords is 0. Give at"),
        ("allocate deep.json --one-per 2", "deep.json: not readable as JSON"),
        ('sample --name s --settings {"s":DEEP', "'--settings': not a JSON object"),
    ],
)
def test_options_of_sampling(here, capsys, arguments, message):
    (here / "counts.json").write_text('{"cat": {"tom": 3}}')
    (here / "deep.json").write_text(DEEP)
    given = [part.replace("DEEP", DEEP) for part in arguments.split()]
    option = "--output" if given[0] == "sample" else "--file"
    sets = [] if given[0] == "allocate" else ["--candidates", "p", "--original", "o"]
    assert message in error_of(capsys, "replicate", *given, *sets, option, "x.csv")
    assert not (here / "x.csv").exists()


def test_the_name_of_a_model_in_a_file(here, capsys):
    assert "too long. Give the model a name" in error_of(capsys, "compare", "name.parquet", "b.csv")
    main(["compare", "name.parquet", "b.csv", "--model", "m"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: x\n  models: m.csv\n", r"m.yaml, line 2, column 9: not readable as YAML"),
        ("a: 2001-13-40\n", r"m.yaml: not readable as YAML \(month must be in"),
        ("- a\n", r"m.yaml: is not a mapping"),
        (None, r"m.yaml: no such file"),
    ],
)
def test_study_files_that_cannot_be_read(tmp_path, capsys, text, message):
    if text is not None:
        (tmp_path / "m.yaml").write_text(text)
    assert re.search(message, error_of(capsys, "check-study", str(tmp_path / "m.yaml")))


def test_a_study_is_checked(here, capsys):
    (here / "models.csv").write_text("name,kind\na,predictions\n")
    sets = ", ".join(f"{n}: {{kind: predictions, files: '{n}/{{model}}.csv'}}" for n in "vw")
    study = f"study: s\nmodels: models.csv\ndatasets: {{{sets}}}\n"
    study += "pairs: {p: {original: v, replication: w}}\n"
    for name in "vw":
        (here / name).mkdir()
        (here / name / "a.csv").write_text(FINE)
    (here / "s.yaml").write_text(study)
    main(["check-study", "s.yaml"])
    assert "study 's': 1 models, 2 datasets, 1 pairs" in capsys.readouterr().out
    (here / "s.yaml").write_text("results: '{model}'\n" + study)
    assert "Snakemake takes braces for wildcards" in error_of(capsys, "check-study", "s.yaml")


def test_a_line_that_is_not_utf_8(tmp_path):
    (tmp_path / "c.csv").write_bytes(b"name,kind\na,b\n\xe4,c\n")
    with pytest.raises(InputError, match=r"c\.csv: line 3 is not UTF-8 \(byte 0xe4\)"):
        read_csv_rows(tmp_path / "c.csv", ["name"])
