"""What a person may mistype, or have damaged: one line that says what to do, and no traceback."""

import re
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers import error_of
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
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "folder.csv").mkdir()
    with zipfile.ZipFile(tmp_path / "raw.npz", "w") as archive:
        archive.writestr("labels", "0, 1, 2")
    table = pa.table({"label": [0], "prediction": [0], "probability": [0.5]})
    long = table.replace_schema_metadata({"n_classes": "9" * 5000})
    pq.write_table(long, tmp_path / "classes.parquet")
    pq.write_table(table.replace_schema_metadata({"model": "m" * 300}), tmp_path / "name.parquet")
    return tmp_path


def line_of(capsys, code, *arguments):
    """The one line on standard error of a command that is refused."""
    message = error_of(capsys, code, *arguments)
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    return message


LONG, NUL = "x" * 300 + ".csv", "a\0b.csv"
INPUTS = {
    "loop.csv": "no such file: it is a link to nothing, or to itself",
    "folder.csv": "is a folder",
    "raw.npz": "'labels': has no array 'labels'",
    "classes.parquet": "99999999999999999999... classes. Give a number from 1",
    LONG: "no such file (File name too long)",
    NUL: "a\\x00b.csv: no such file",
}


@pytest.mark.parametrize(("name", "message"), INPUTS.items(), ids=range(len(INPUTS)))
def test_inputs(here, capsys, name, message):
    for arguments in (["compare", name, "b.csv"], ["match", "a.csv", name, "--output", "r"],
                      ["predict-accuracy", "a.csv", "b.csv", "--calibration", name]):  # fmt: skip
        assert message in line_of(capsys, 1, *arguments)
    assert not (here / "r" / "runs.csv").exists()


OUTPUTS = {
    "x" * 300: "cannot be written (File name too long)",
    NUL.removesuffix(".csv"): "no file can have this name",
    "/dev/null/x": "cannot be written (Not a directory)",
    "a.csv/x": "cannot be written",
    "r.csv": "r.csv: looks like a file, and --output is a folder",
    "read": "runs.csv: is read, and would be overwritten",
}


@pytest.mark.parametrize(("name", "message"), OUTPUTS.items(), ids=range(len(OUTPUTS)))
def test_outputs(here, capsys, name, message):
    """Pairs cannot be written: nor are runs, before that is known."""
    (here / "read").mkdir()
    (here / "read/runs.csv").write_text(FINE)
    assert message in line_of(capsys, 1, "match", "a.csv", "read/runs.csv", "--output", name)
    assert (here / "a.csv").read_text() == (here / "read/runs.csv").read_text() == FINE


# By command line, in which F is two files: exit code and message.
REFUSED = {
    "compare F --output a.csv": (1, "cannot be written"),
    "compare F --seeds 100000000000000000000": (1, "0. Give 1 to 10,000"),
    "compare F --model m\0": (1, "is not printable or too long. Give the model a name"),
    "compare F --classes folder.csv": (1, "--classes takes a number"),
    "compare F --classes -3": (1, "-3 classes. Give a number"),
    "compare F --columns label=x,prediction=x": (1, "'x' is given twice"),
    "compare F --columns label": (1, "'label' is not of the form ours=theirs"),
    "compare F --criteria z": (2, "unknown name 'z'. Known: label_probability, prob"),
    "compare F --critera z": (2, "unknown option '--critera'. Did you mean '--criteria'"),
    "compare F z": (2, "unexpected argument 'z'"),
    "compare F --original z": (2, "any more: `matched-eval compare FILE FILE`, the"),
    "compare --original z": (2, "there is no option '--original' any more: `matched-eval"),
    "compare --analyses x y": (2, "take several values come after them)"),
    "compare a b/{model}": (1, "must hold {model} once"),
    "compare F --fail-if gapp>5": (2, "Did you mean 'gap'"),
    "compare F --fail-if gap==5": (2, "is not of the form"),
    "compare F --fail-if gap:probability>5": (2, "unknown quantity"),
    "compare F --criteria probability --fail-if matched-gap:label_probability>5": (
        2, "needs --criteria label_probability",
    ),
    "compare F --margin 0": (2, "is not between 0 and 100 points"),
    "compare F --margin 0.5": (2, "0.5 may mean 0.5 points, or 50 points as a fraction"),
    "label-plan a.csv --half-width 60": (1, "half_width is 0.6"),
    "predict-accuracy F --resamples 100000000000000000000": (1, ". Give 0 to 1,000,000"),
    "predict-accuracy a.csv b.csv b.csv": (1, "is named twice in the targets"),
    "predict-accuracy F --calibration c c": (1, "c: no such file"),
    "duplicates F --file near.csv --sheet x.gif": (1, "cannot save '.gif' figures"),
    "cmpare": (2, "unknown command 'cmpare'. Did you mean 'compare'"),
    "replicate counts": (2, "unknown step 'counts'"),
    "replicate sample --strategy": (2, "write the settings to a YAML file"),
    "--json compare x y": (2, "comes after the command: matched-eval compare ... --json"),
}  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_command_lines(here, capsys, line):
    code, message = REFUSED[line]
    arguments = line.replace("F", "a.csv b.csv", 1).split(" ")
    assert message in line_of(capsys, code, *arguments)
    assert (here / "a.csv").read_text() == FINE


DEEP = "[" * 100_000


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
    step, *options = [part.replace("DEEP", DEEP) for part in arguments.split()]
    output = "--output" if step == "sample" else "--file"
    sets = [] if step == "allocate" else ["--candidates", "p", "--original", "o"]
    assert message in line_of(capsys, 1, "replicate", step, *options, *sets, output, "x.csv")
    assert not (here / "x.csv").exists()


def test_the_name_of_a_model_in_a_file(here, capsys):
    assert "too long. Give the model a name" in line_of(
        capsys, 1, "compare", "name.parquet", "b.csv"
    )
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
    assert re.search(message, line_of(capsys, 1, "check-study", str(tmp_path / "m.yaml")))


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
    assert "Snakemake takes braces for wildcards" in line_of(capsys, 1, "check-study", "s.yaml")


def test_a_line_that_is_not_utf_8(tmp_path):
    (tmp_path / "c.csv").write_bytes(b"name,kind\na,b\n\xe4,c\n")
    with pytest.raises(InputError, match=r"c\.csv: line 3 is not UTF-8 \(byte 0xe4\)"):
        read_csv_rows(tmp_path / "c.csv", ["name"])
