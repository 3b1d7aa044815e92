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

import numpy as np
import pandas as pd
import pytest

import matcheval as me
from helpers import RESULTS, matched, predictions, simulate, told_json
from matcheval.api import comparison
from matcheval.cli import main as command_line
from matcheval.cli.main import build_parser, main
from matcheval.figures.saving import save_figure
from matcheval.predictions.records import write_predictions
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import Criterion

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def files(tmp_path):
    source, target = simulate(800, 5, 1), simulate(300, 5, 2, accuracy=0.7)
    write_predictions(source, tmp_path / "source.parquet")
    write_predictions(target, tmp_path / "target.csv")
    return [str(tmp_path / "source.parquet"), str(tmp_path / "target.csv")]


def told(capsys, *arguments):
    """The JSON that a command prints."""
    main([*map(str, arguments), "--json"])
    return told_json(capsys.readouterr().out)


def fails(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    return caught.value.code, capsys.readouterr().err


class TestMatch:
    def test_same_as_the_library(self, files, tmp_path):
        out = tmp_path / "out"
        main(["match", *files, "--epsilon", "0.01", "--seeds", "3", "--model", "m", "--pair", "p",
              "--output", str(out), "--pairs"])  # fmt: skip
        sets = simulate(800, 5, 1), simulate(300, 5, 2, accuracy=0.7)
        expected = matched(*sets, seeds=range(3), epsilon=0.01).measured
        frame, pairs = pd.read_csv(out / "runs.csv"), pd.read_parquet(out / "pairs.parquet")
        assert list(frame.columns)[: len(RUNS.names)] == RUNS.names
        for name in RUNS.names:
            np.testing.assert_allclose(frame[name], expected[name])
        assert list(pairs.columns) == ["seed", "source_index", "target_index"]
        assert pairs.groupby("seed").size().tolist() == frame.n_matched.tolist()

    def test_a_larger_target_and_epsilon_1_are_allowed(self, files, tmp_path):
        options = ["--epsilon", "1", "--criterion", "probability", "--output", str(tmp_path)]
        for source, n_target in ([], 300), (["--source", "original"], 800):  # the smaller set
            main(["match", *reversed(files), *options, *source])
            runs = pd.read_csv(tmp_path / "runs.csv")
            assert (runs[["n_target", "n_matched"]] == [n_target, 300]).all(axis=None)


class TestCompare:
    def test_prints_a_table_and_what_follows(self, files, capsys):
        main(["compare", *files])
        short = capsys.readouterr().out
        source, target = simulate(800, 5, 1), simulate(300, 5, 2, accuracy=0.7)
        old, new = 100 * source.correct.mean(), 100 * target.correct.mean()
        interval = r"−?[\d.]+ \[−?[\d.]+, −?[\d.]+\]"
        accuracy = rf"^accuracy +{old:.2f} % +{new:.2f} % +{old - new:.1f} \["
        assert re.search(accuracy, short, re.MULTILINE)
        assert len(short.splitlines()) < 30
        for line in ("mean confidence", "explained by confidence", "at equal confidence, by bins",
                     "matched on label and confidence", "matched on confidence"):  # fmt: skip
            assert re.search(rf"^{line} .* {interval}$", short, re.MULTILINE)
        main(["compare", *files, "--full"])
        full = capsys.readouterr().out
        assert max(map(len, full.splitlines())) <= 100
        words = " ".join(full.split())
        for part in (
            r"criterion 1 \(predicted label and probability\)", r"criterion 2 \(probability\)",
            "ε = 0.005, 100 seeds", "if confidence explained nothing", r"next \w+",
            rf"matched gap: {interval}, \d+ % (smaller|larger)", r"unmatched targets: [\d.]+ %",
            r"(established|suggested) Accuracy (falls|seems to fall) by [\d.]+ points \[",
        ):  # fmt: skip
            assert re.search(part, words)

    def test_one_criterion_one_seed_and_the_other_original(self, files, capsys):
        def gap(*files):
            main(["compare", *files, "--criterion=probability", "--seeds", "1", "--full"])
            out, err = capsys.readouterr()
            assert "criterion 1" not in out
            assert ", 1 seed\n" in out
            assert "--criterion is called --criteria; the old name goes after 0.3" in err
            return re.search(r"^accuracy .* % +(−?[\d.]+) \[", out, re.MULTILINE)[1]

        assert f"−{gap(*files)}" == gap(*reversed(files))

    def test_pairs_and_groups(self, files, tmp_path, capsys):
        main(["compare", files[0], files[0], "--paired"])
        assert "by image: the sets are paired" in capsys.readouterr().out
        pd.read_csv(files[1]).assign(group=lambda t: t.index // 15).to_csv(tmp_path / "g.csv")
        main(["compare", str(tmp_path / "g.csv"), str(tmp_path / "g.csv")])
        assert "by groups (at least 20 in a set)" in capsys.readouterr().out
        shared = ["compare", files[0], tmp_path / "g.csv", "--groups-shared"]
        assert "not known of both" in fails(capsys, *shared)[1]

    def test_nothing_matched(self, tmp_path, capsys, caplog):
        """It is said in words, NaN in tables, and null in JSON."""
        write_predictions(predictions([0.1]), tmp_path / "s.csv")
        write_predictions(predictions([0.9]), tmp_path / "t.csv")
        files = [str(tmp_path / "s.csv"), str(tmp_path / "t.csv")]
        main(["compare", *files, "--full"])
        out = capsys.readouterr().out
        assert "undefined" in out
        assert "No target was matched by criterion 1" in out
        found = told(capsys, "match", *files, "--seeds", "1", "--output", tmp_path)
        (run,) = found["runs"]
        assert "no target was matched" in caplog.text
        assert run["matched_accuracy_source"] is None
        assert pd.read_parquet(tmp_path / "runs.parquet").matched_accuracy_source.isna().all()


def test_as_a_process(files, tmp_path, monkeypatch):
    """A bad file is one line without traceback; a terminal may have no Greek letters."""

    def run(*arguments):
        command = [sys.executable, "-m", "matcheval.cli", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = run("compare", files[0], tmp_path / "none.csv")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"error: {tmp_path / 'none.csv'}: no such file"]
    result = run("compare", *files, "--full")
    assert result.returncode == 0
    assert "? = 0.005, 100 seeds" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("end", ["> /dev/full", ">&-", "| true"])
def test_where_standard_output_is_gone(files, tmp_path, monkeypatch, end):
    """Files are written first, and the exit code tells what the text would have told."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    compare = f"compare {shlex.join(files)} --seeds 1 --output {shlex.quote(str(tmp_path / 'out'))}"
    for arguments, code in ((f"{compare} --fail-if 'gap > -100'", 3), ("--version", 0)):
        line = f"{shlex.quote(sys.executable)} -m matcheval.cli {arguments} {end}"
        command = ["bash", "-c", f"set -o pipefail; {line}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        full = "standard output cannot be written (No space left on device)" in done.stderr
        assert full is (end == "> /dev/full")
        assert not re.search("Traceback|Exception", done.stderr)
    assert (tmp_path / "out" / "report.html").is_file()


def test_an_interrupt_ends_a_command_wherever_it_is(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "build_parser", interrupt)
    assert fails(capsys, "doctor") == (130, "")


def test_a_comparison_that_is_interrupted_leaves_the_earlier_one(files, tmp_path, monkeypatch):
    out = tmp_path / "out"
    command = ["compare", *files, "--seeds", "1", "--output", str(out)]
    main(command)

    def state():
        return {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}

    before, drawn = state(), []

    def interrupt(figure, *paths):
        drawn.append(save_figure(figure, *paths))
        if len(drawn) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "save_figure", interrupt)
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert (ended.value.code, state()) == (130, before)
    (out / ".partial").mkdir()  # as a run that was killed leaves it
    (out / ".partial" / "x").touch()
    main(command)
    assert state().keys() == before.keys()
    assert ".partial" not in (out / "report.html").read_text("utf-8")
    (tmp_path / "new" / ".partial").mkdir(parents=True)
    main([*command[:-1], str(tmp_path / "new")])
    assert (tmp_path / "new" / "report.html").is_file()


def test_compare_writes_what_the_workflow_writes(files, tmp_path):
    out = tmp_path / "out"
    options = ["--model", "hub/m", "--pair", "p", "--seeds", "2", "--figures", "png"]
    main(["compare", *files, "--output", str(out), *options])
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    formats = ("png", "svg")
    expected = ["summary.md", "report.html", "files.json", "gaps/p.csv", "gaps/p.parquet"]
    expected += ["gaps/p/calibration.csv", "gaps/p/calibration.parquet"]
    expected += [f"figures/p/confidence.{f}" for f in formats]
    for c in Criterion:
        expected += [f"matched/p/{c.value}.parquet", f"pairs/p/{c.value}/hub_m.parquet"]
        expected += [f"{t}/p/{c.value}.{f}" for t in ("tables", "gaps") for f in ("csv", "parquet")]
        for name in ("matched_accuracy", "gaps", "reliability/hub_m"):
            expected += [f"figures/p/{c.value}/{name}.{f}" for f in formats]
    assert written == sorted(expected)
    table = pd.read_csv(out / "tables" / "p" / "probability.csv")
    assert table.model.tolist() == ["hub/m"]
    assert table.n_seeds.tolist() == [2]


class TestComparingManyModels:
    @pytest.fixture
    def folders(self, tmp_path, monkeypatch):
        """Three models on sets `old` and `new`, and one without predictions on `new`."""
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        labels = {"old": rng.integers(0, 5, 500), "new": rng.integers(0, 5, 300)}
        for name, label in labels.items():
            (tmp_path / name).mkdir()
            for i, model in enumerate(("m-1", "net.v2", "z", "alone")):
                if (name, model) != ("new", "alone"):
                    one = simulate(len(label), 5, 10 * i + len(name), label=label)
                    write_predictions(one, tmp_path / name / f"{model}.csv")
        return ["old/{model}.csv", "new/{model}.csv", "--seeds", "2"]

    def test_all_models_are_compared_and_written(self, folders, capsys, caplog):
        main(["compare", *folders, "--output", "out"])
        out = capsys.readouterr().out
        said = "3 models: old (original) against new (replication)"
        assert said in out
        assert "1 of 4 models are left out, without files on both sets: alone" in caplog.text
        table = pd.read_csv("out/tables/pair/probability.csv")
        assert sorted(table.model) == ["m-1", "net.v2", "z"]
        assert set(table.source) == {"old"}  # the larger set
        page = Path("out/report.html").read_text(encoding="utf-8")
        assert said in page
        assert "net.v2" in page

    def test_the_text_stays_short(self, folders, capsys, caplog):
        """Of 30 models, `--full` has mean and range of all, and the rows of the first five."""
        for i in range(27):
            for name in ("old", "new"):
                copied = pd.read_csv(f"{name}/z.csv")
                copied.loc[: 15 * i, "prediction"] = (copied["label"] + 1) % 5
                copied.to_csv(f"{name}/{'y' * 60}{i:02d}.csv", index=False)
            Path("old", f"alone-{i}.csv").touch()
        main(["compare", *folders, "--analyses", "mcnemar", "--output", "out", "--full"])
        text = capsys.readouterr().out
        assert len(text.splitlines()) < 85
        assert re.search(r"^lowest( +[\d.]+){2}", text, re.MULTILINE)
        assert max(len(line) for line in text.splitlines() if "|" not in line) <= 110
        assert "... and 25 more models, less accurate on the original: in the tables below" in text
        assert "... and 40 more rows: in the tables below out" in text
        assert "28 of 58 models are left out" in caplog.text
        assert "alone-11 and 23 more" in caplog.text
        assert caplog.text.count("warning: y") == 4
        assert "more like these: in the tables below out" in caplog.text

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda t: t[:-1].drop(columns="index"), "model 'm-1': 299 datapoints, not 300."),
            (lambda t: t.assign(index=t.index + 1), "'m-1': index 1 has label 0, not 1"),
            (lambda t: t.assign(group=t.index // 20), "'group': names groups; new/m-1.csv names"),
        ],
    )
    def test_files_of_different_datapoints_or_groups(self, folders, capsys, change, said):
        change(pd.read_csv("new/z.csv")).to_csv("new/z.csv", index=False)
        code, err = fails(capsys, "compare", *folders)
        assert code == 1
        assert re.search(said, " ".join(err.split())), err

    def test_a_second_run_replaces_the_first_and_no_other_files(self, folders, capsys):
        Path("mine").mkdir()
        Path("mine/thesis.tex").write_text("x")
        # A list of files of another origin is no list of ours, and deletes nothing.
        for text in ("no JSON", '["thesis.tex"]', '{"files": ["thesis.tex"]}'):
            Path("mine/files.json").write_text(text)
            code, err = fails(capsys, "compare", *folders, "--output", "mine")
            assert (code, "holds files that no comparison wrote" in err) == (1, True)
        listed = {"written_by": "matched-eval compare", "files": ["../old/z.csv", "no", 1]}
        Path("mine/files.json").write_text(json.dumps(listed))
        one = ["compare", "old/z.csv", "new/z.csv", "--seeds", "1", "--output", "mine"]
        main(one)
        main([*one, "--pair", "q"])
        assert not list(Path("mine").rglob("pair"))
        assert Path("mine/tables/q/probability.csv").is_file()
        assert Path("mine/thesis.tex").exists()
        assert Path("old/z.csv").exists()


def test_no_command_prints_the_help(capsys):
    assert fails(capsys)[0] == 0


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


class TestJson:
    """What programs read: valid JSON on standard output, and nothing else."""

    def test_every_command_has_it(self):
        def commands(parser, name=()):
            inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
            for action in inner:
                for word, one in action.choices.items():
                    yield from commands(one, (*name, word))
            if not inner:
                yield " ".join(name), parser

        found = dict(commands(build_parser()))
        assert len(found) > 10
        assert all("--json" in parser._option_string_actions for parser in found.values())
        names = {name.replace(" ", "-") for name in found}
        assert names == {*RESULTS["$defs"]}  # which tests of each compare its outputs with

    def test_studies_and_plans(self, capsys, monkeypatch):
        monkeypatch.chdir(ROOT)
        found = told(capsys, "check-study", "config.yaml")
        assert (found["study"], found["pairs"]) == ("digits", ["new-writers"])
        assert len(told(capsys, "warehouse", "plan")["plan"]) > 100
