"""What a person may mistype, or have damaged: one line that says what to do, and no traceback."""

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
    table = pa.table({"label": [0], "prediction": [0], "probability": [0.5]})
    pq.write_table(table.replace_schema_metadata({"model": "m" * 300}), tmp_path / "name.parquet")
    return tmp_path


def line_of(capsys, code, *arguments):
    """The one line on standard error of a command that is refused."""
    message = error_of(capsys, code, *arguments)
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    return message


INPUTS = {
    "loop.csv": "no such file: it is a link to nothing, or to itself",
    "folder.csv": "is a folder",
    "x" * 300 + ".csv": "no such file (File name too long)",
}


@pytest.mark.parametrize(("name", "message"), INPUTS.items(), ids=range(len(INPUTS)))
def test_inputs(here, capsys, name, message):
    for arguments in (["compare", name, "b.csv"], ["match", "a.csv", name, "--output", "r"],
                      ["predict-accuracy", "a.csv", "b.csv", "--calibration", name]):  # fmt: skip
        assert message in line_of(capsys, 1, *arguments)
    assert not (here / "r" / "runs.csv").exists()


OUTPUTS = {
    "x" * 300: "cannot be written (File name too long)",
    "a\0b": "no file can have this name",
    "a.csv/x": "cannot be written",
    "r.csv": "r.csv: looks like a file, and --output is a folder",
}


@pytest.mark.parametrize(("name", "message"), OUTPUTS.items(), ids=range(len(OUTPUTS)))
def test_outputs(here, capsys, name, message):
    assert message in line_of(capsys, 1, "match", "a.csv", "b.csv", "--output", name)


def test_what_is_read_is_not_overwritten(here, capsys):
    (here / "read").mkdir()
    (here / "read/runs.csv").write_text(FINE)
    command = ("match", "a.csv", "read/runs.csv", "--output", "read")
    assert "runs.csv: is read, and would be overwritten" in line_of(capsys, 1, *command)
    assert (here / "read/runs.csv").read_text() == FINE


# By command line, in which F is two files: exit code and message.
REFUSED = {
    "compare F --output a.csv": (1, "cannot be written"),
    "compare F --seeds 100000000000000000000": (1, "0. Give 1 to 10,000"),
    "compare F --classes folder.csv": (1, "--classes takes a number"),
    "compare F --columns label=x,prediction=x": (1, "'x' is given twice"),
    "compare F --criteria z": (2, "unknown name 'z'. Known: label_probability, prob"),
    "compare F --critera z": (2, "unknown option '--critera'. Did you mean '--criteria'"),
    "compare F --original z": (2, "any more: `matched-eval compare FILE FILE`, the"),
    "compare a b/{model}": (1, "must hold {model} once"),
    "compare F --fail-if gap==5": (2, "is not of the form"),
    "compare F --criteria probability --fail-if matched-gap:label_probability>5": (
        2, "needs --criteria label_probability",
    ),
    "compare F --margin 0.5": (2, "0.5 may mean 0.5 points, or 50 points as a fraction"),
    "predict-accuracy a.csv b.csv b.csv": (1, "is named twice in the targets"),
    "duplicates F --file near.csv --sheet x.gif": (1, "cannot save '.gif' figures"),
    "cmpare": (2, "unknown command 'cmpare'. Did you mean 'compare'"),
    "--json compare x y": (2, "comes after the command: matched-eval compare ... --json"),
}  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_command_lines(here, capsys, line):
    code, message = REFUSED[line]
    arguments = line.replace("F", "a.csv b.csv", 1).split(" ")
    assert message in line_of(capsys, code, *arguments)
    assert (here / "a.csv").read_text() == FINE


def test_the_name_of_a_model_in_a_file(here, capsys):
    assert "too long. Give the model a name" in line_of(
        capsys, 1, "compare", "name.parquet", "b.csv"
    )
    main(["compare", "name.parquet", "b.csv", "--model", "m"])


def test_study_files_that_cannot_be_read(tmp_path, capsys):
    (tmp_path / "m.yaml").write_text("study: x\n  models: m.csv\n")
    message = "m.yaml, line 2, column 9: not readable as YAML"
    assert message in line_of(capsys, 1, "check-study", str(tmp_path / "m.yaml"))


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
