"""`matched-eval` as a user runs it, on custom prediction files."""

import argparse
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import matcheval as me
from helpers import RESULTS, error_of, predictions, printed, simulate
from matcheval.api import comparison
from matcheval.cli.main import build_parser, main
from matcheval.predictions.records import write_predictions

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def files(tmp_path):
    source, target = simulate(800, 5, 1), simulate(300, 5, 2, accuracy=0.7)
    write_predictions(source, tmp_path / "source.parquet")
    write_predictions(target, tmp_path / "target.csv")
    return [str(tmp_path / "source.parquet"), str(tmp_path / "target.csv")]


def test_the_text_of_a_comparison(files, capsys):
    old, new = (
        100 * one.correct.mean() for one in (simulate(800, 5, 1), simulate(300, 5, 2, accuracy=0.7))
    )
    main(["compare", *files])
    short = capsys.readouterr().out
    accuracy = rf"^accuracy +{old:.2f} % +{new:.2f} % +{old - new:.1f} \["
    assert re.search(accuracy, short, re.MULTILINE)
    main(["compare", *reversed(files), "--criteria", "probability", "--full"])
    full = capsys.readouterr().out
    assert re.search(rf"^accuracy .* % +−{old - new:.1f} \[", full, re.MULTILINE)
    assert "criterion 1" not in full


def test_nothing_matched(tmp_path, capsys, caplog):
    """It is said in words, NaN in tables, and null in JSON."""
    write_predictions(predictions([0.1]), tmp_path / "s.csv")
    write_predictions(predictions([0.9]), tmp_path / "t.csv")
    files = [str(tmp_path / "s.csv"), str(tmp_path / "t.csv")]
    main(["compare", *files, "--full"])
    assert "No target was matched by criterion 1" in capsys.readouterr().out
    (run,) = printed(capsys, "match", *files, "--seeds", "1", "--output", tmp_path)["runs"]
    assert "no target was matched" in caplog.text
    assert run["matched_accuracy_source"] is None
    assert pd.read_parquet(tmp_path / "runs.parquet").matched_accuracy_source.isna().all()


def test_as_a_process(files, tmp_path, monkeypatch):
    """A bad file is one line without traceback."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    command = [sys.executable, "-m", "matcheval.cli", "compare", files[0], tmp_path / "none.csv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"error: {tmp_path / 'none.csv'}: no such file"]


def test_where_standard_output_is_gone(files, tmp_path, monkeypatch):
    """Files are written first, and the exit code tells what the text would have told."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    compare = f"compare {shlex.join(files)} --seeds 1 --output {shlex.quote(str(tmp_path / 'out'))}"
    line = f"{shlex.quote(sys.executable)} -m matcheval.cli {compare} --fail-if 'gap > -100' | true"
    command = ["bash", "-c", f"set -o pipefail; {line}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert not re.search("Traceback|Exception", done.stderr)
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_comparison_that_is_interrupted_leaves_the_earlier_one(files, tmp_path, monkeypatch):
    out = tmp_path / "out"
    command = ["compare", *files, "--seeds", "1", "--output", str(out)]
    main(command)

    def state():
        return {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}

    before, drawn, save = state(), [], comparison.save_figure

    def interrupt(figure, *paths):
        drawn.append(save(figure, *paths))
        if len(drawn) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "save_figure", interrupt)
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert (ended.value.code, state()) == (130, before)


def test_compare_writes_what_the_workflow_writes(files, tmp_path):
    out, c = tmp_path / "out", "probability"
    options = ["--model", "hub/m", "--pair", "p", "--seeds", "2", "--figures", "png"]
    main(["compare", *files, "--output", str(out), *options, "--criteria", c])
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    figures = (
        "confidence",
        *(f"{c}/{n}" for n in ("matched_accuracy", "gaps", "reliability/hub_m")),
    )
    tables = ("gaps/p", "gaps/p/calibration", f"tables/p/{c}", f"gaps/p/{c}")
    assert written == {
        "summary.md", "report.html", "files.json", f"matched/p/{c}.parquet",
        f"pairs/p/{c}/hub_m.parquet",
        *(f"figures/p/{name}.{suffix}" for name in figures for suffix in ("png", "svg")),
        *(f"{name}.{suffix}" for name in tables for suffix in ("csv", "parquet")),
    }  # fmt: skip
    table = pd.read_csv(out / "tables" / "p" / f"{c}.csv")
    assert (table.model.tolist(), table.n_seeds.tolist()) == (["hub/m"], [2])


def test_a_second_run_replaces_the_first_and_no_other_files(files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = ["compare", *files, "--seeds", "1", "--output", "mine"]
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("x")
    # A list of files of another origin is no list of ours, and deletes nothing.
    for text in ("no JSON", '["thesis.tex"]', '{"files": ["thesis.tex"]}'):
        Path("mine/files.json").write_text(text)
        assert "holds files that no comparison wrote" in error_of(capsys, 1, *one)
    listed = {"written_by": "matched-eval compare", "files": ["../target.csv", "no", 1]}
    Path("mine/files.json").write_text(json.dumps(listed))
    main(one)
    main([*one, "--pair", "q"])
    assert not list(Path("mine").rglob("pair"))
    assert Path("mine/tables/q/probability.csv").is_file()
    assert Path("mine/thesis.tex").exists()
    assert Path("target.csv").exists()


@pytest.mark.parametrize(
    "command",
    ["compare", "compare-models", "match", "predict-accuracy", "label-plan", "estimate-accuracy"],
)
def test_options_are_arguments_of_the_function_with_its_defaults(command):
    (commands,) = [a for a in build_parser(command)._actions if a.dest == "command"]
    parameters = inspect.signature(getattr(me, command.replace("-", "_"))).parameters
    of_command = {"help", "output", "figures", "full", "fail_if", "json", "pairs"}
    of_command |= {"show_predictions"}
    if command == "label-plan":
        of_command |= {"plan", "outside"}  # of the pilot
    elif command == "estimate-accuracy":
        of_command |= {"original", "second"}  # of the functions for gaps and differences
    for action in commands.choices[command]._actions:
        assert action.dest in {*parameters} ^ of_command
        stated = re.search(r"\(default: ([\d.]+)\)", action.help)
        if stated:
            factor = 100 if action.dest == "margin" else 1  # it is in points
            assert float(stated[1]) == factor * parameters[action.dest].default


def test_every_command_has_json(capsys, monkeypatch):
    """What programs read, by a schema each, with which tests compare what commands print."""

    def commands(parser, name=()):
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        for action in inner:
            for word, one in action.choices.items():
                yield from commands(one, (*name, word))
        if not inner:
            yield "-".join(name), parser

    found = dict(commands(build_parser()))
    assert all("--json" in parser._option_string_actions for parser in found.values())
    assert {*found} == {*RESULTS["$defs"]}
    monkeypatch.chdir(ROOT)
    study = printed(capsys, "check-study", "config.yaml")
    assert (study["study"], study["pairs"]) == ("digits", ["new-writers"])
    assert len(printed(capsys, "warehouse", "plan")["plan"]) > 100
