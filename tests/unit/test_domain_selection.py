"""Model selection for domain generalisation, and the import of DomainBed's sweeps.

`tests/data/domainbed_sweep.csv` holds the accuracies of the sample sweep of DomainBed's repository
(facebookresearch/DomainBed, commit 394e02c, `domainbed/misc/test_sweep_data`; MIT licence,
copyright Facebook, Inc. and its affiliates): 40 runs of ERM on VLCS, as numbers of correct images.
"""

import json
from pathlib import Path

import pandas as pd
import pytest

from matcheval.cli.main import main
from matcheval.domain_generalization import domainbed
from matcheval.domain_generalization.domainbed_sweeps import Record, Rule, choose, read_sweep
from matcheval.errors import InputError

SWEEP = Path(__file__).parents[1] / "data" / "domainbed_sweep.csv"
N_IMAGES = {"in": (1132, 2125, 2626, 2701), "out": (283, 531, 656, 675)}  # per domain of VLCS

# `domainbed/misc/test_sweep_results.txt`, blanks at the ends of lines removed.
PUBLISHED = """\
Total records: 200

-------- Dataset: VLCS, model selection method: training-domain validation set
Algorithm             C                     L                     S                     V                     Avg
ERM                   98.0 +/- 0.2          64.2 +/- 0.8          74.1 +/- 0.4          77.1 +/- 0.2          78.3

-------- Averages, model selection method: training-domain validation set
Algorithm                  VLCS                       Avg
ERM                        78.3 +/- 0.0               78.3

-------- Dataset: VLCS, model selection method: leave-one-domain-out cross-validation
Algorithm             C                     L                     S                     V                     Avg
ERM                   96.9 +/- 1.0          64.4 +/- 0.9          70.5 +/- 0.5          76.7 +/- 0.1          77.1

-------- Averages, model selection method: leave-one-domain-out cross-validation
Algorithm                  VLCS                       Avg
ERM                        77.1 +/- 0.1               77.1

-------- Dataset: VLCS, model selection method: test-domain validation set (oracle)
Algorithm             C                     L                     S                     V                     Avg
ERM                   96.9 +/- 1.0          65.9 +/- 0.5          71.6 +/- 1.3          76.9 +/- 0.3          77.8

-------- Averages, model selection method: test-domain validation set (oracle)
Algorithm                  VLCS                       Avg
ERM                        77.8 +/- 0.3               77.8
"""  # noqa: E501


def line(test_envs, accuracies, *, step=0, group=0, trial=0, algorithm="ERM", dataset="three"):
    """A record as DomainBed writes it; `accuracies` are pairs of `in` and `out` by domain."""
    row = {
        "args": {
            "algorithm": algorithm, "dataset": dataset, "hparams": None, "hparams_seed": group,
            "steps": 1001, "test_envs": test_envs, "trial_seed": trial,
        },
        "epoch": 1.5, "hparams": {"lr": 5e-05}, "loss": 0.7, "step": step, "step_time": 0.1,
    }  # fmt: skip
    for env, (inner, outer) in enumerate(accuracies):
        row |= {f"env{env}_in_acc": inner, f"env{env}_out_acc": outer}
    return json.dumps(row)


def write_run(folder, *lines):
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_text("".join(f"{each}\n" for each in lines))


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    for name, frame in pd.read_csv(SWEEP, dtype={"run": str}).groupby("run"):
        lines = [
            line(
                [int(env) for env in str(row.test_envs).split()],
                [
                    tuple(getattr(row, f"env{i}_{part}") / N_IMAGES[part][i] for part in N_IMAGES)
                    for i in range(4)
                ],
                step=row.step, group=row.hparams_seed, trial=row.trial_seed, dataset="VLCS",
            )
            for row in frame.itertuples()
        ]  # fmt: skip
        write_run(folder / name, *lines)
    return folder


class TestSampleSweep:
    def test_comes_out_as_domainbed_prints_it(self, sample, capsys):
        main(["domainbed", str(sample), "--json"])
        told = json.loads(capsys.readouterr().out)
        assert told["records"] > 0
        assert len(told["choices"]) > len(told["accuracies"]) > 0
        main(["domainbed", str(sample)])
        assert capsys.readouterr().out == PUBLISHED

    def test_writes_tables(self, sample, tmp_path, capsys):
        """Of one rule, and of the default hyper-parameters only."""
        table, choices = tmp_path / "table.csv", tmp_path / "choices.parquet"
        main(["domainbed", str(sample), "--rule", "oracle", "--default-only",
              "--output", str(table), "--choices", str(choices)])  # fmt: skip
        told = capsys.readouterr().out
        assert "Total records: 100" in told
        assert "training-domain" not in told
        frame = pd.read_csv(table)
        assert frame.target.tolist() == ["C", "L", "S", "V", "average"]
        assert frame.n_trials.tolist() == [2] * 5
        chosen = pd.read_parquet(choices)
        assert (len(chosen), set(chosen.step), set(chosen.group)) == (8, {1000}, {"0"})


def record(group, step, held_out, accuracies, validation, trial=0):
    names = "ABC"
    return Record(
        "d", "a", group, trial, frozenset(held_out), step,
        dict(zip(names, accuracies, strict=True)), dict(zip(names, validation, strict=True)),
    )  # fmt: skip


class TestRules:
    def test_a_step_without_all_runs_is_not_chosen(self):
        runs = [(10, "A", 0.5), (10, "AB", 0.5), (10, "AC", 0.5), (20, "A", 0.9), (20, "AB", 0.9)]
        records = [
            record("x", step, held_out, [accuracy] * 3, [0.5] * 3)
            for step, held_out, accuracy in runs
        ]
        assert choose(records, "A", Rule.LEAVE_ONE_OUT).step == 10
        pairs = [each for each in records if len(each.held_out) == 2]
        assert all(choose(pairs, "A", rule) is None for rule in Rule)


class TestSummaries:
    def test_averages_are_over_complete_trials(self):
        records = [
            record("x", 10, target, [accuracy] * 3, [0.5] * 3, trial=trial)
            for target, trial, accuracy in [
                ("A", 0, 0.1), ("B", 0, 0.2), ("C", 0, 0.6), ("A", 1, 0.5), ("B", 1, 0.4),
            ]
        ]  # fmt: skip
        choices = domainbed.tabulate_choices(records, [Rule.ORACLE])
        rows = domainbed.summarize_choices(choices, {"d": list("ABC")}).to_pylist()
        found = {row["target"]: (row["n_trials"], row["accuracy"]) for row in rows}
        assert found == {
            "A": (2, pytest.approx(0.3)), "B": (2, pytest.approx(0.3)),
            "C": (1, pytest.approx(0.6)), "average": (1, pytest.approx(0.3)),
        }  # fmt: skip

    def test_a_missing_domain_leaves_the_average_undefined(self, tmp_path, capsys):
        write_run(tmp_path / "a", line([0], [(0.25, 0.5), (1, 1), (1, 1)]))
        write_run(tmp_path / "b", line([1], [(0.25, 0.5), (1, 1), (1, 1)], algorithm="CORAL"))
        main(["domainbed", str(tmp_path), "--rule", "oracle"])
        text = [each.split("  ") for each in capsys.readouterr().out.splitlines()]
        rows = [[cell.strip() for cell in row if cell.strip()] for row in text]
        assert ["Algorithm", "0", "1", "2", "Avg"] in rows
        assert ["ERM", "25.0 +/- 0.0", "X", "X", "X"] in rows
        assert ["CORAL", "X", "100.0 +/- 0.0", "X", "X"] in rows
        assert ["ERM", "X", "X"] in rows


PAIRS = [(0.5, 0.5), (0.5, 0.5)]
RUN = line([0], PAIRS)


class TestReading:
    def test_the_last_record_of_a_step_counts(self, tmp_path):
        """A run that was killed and started again appends to its file."""
        write_run(tmp_path / "a", line([0], PAIRS), line([0], PAIRS, step=300),
                  line([0], [(0.75, 0.5), (0.5, 0.5)]))  # fmt: skip
        records = read_sweep(tmp_path)
        assert [(r.step, r.accuracies["0"]) for r in records] == [(0, 0.75), (300, 0.5)]
        assert read_sweep(tmp_path / "a") == records  # the folder of a single run

    def test_warns_of_folders_without_records_and_of_short_runs(self, tmp_path, caplog):
        write_run(tmp_path / "a", line([0], PAIRS, step=300))
        write_run(tmp_path / "b", line([1], PAIRS))
        (tmp_path / "c").mkdir()
        write_run(tmp_path / "d")
        assert len(read_sweep(tmp_path)) == 2
        assert "2 folders have no results.jsonl, or an empty one" in caplog.text
        assert "1 runs end before others do, such as b" in caplog.text

    @pytest.mark.parametrize(
        ("runs", "message"),
        [
            (["{"], "line 1: is not a JSON object"),
            (["[]"], "is not a mapping of keys"),
            ([RUN.replace("[0]", "0")], "'args.test_envs': '0' is not a list"),
            ([line([2], PAIRS)], "'test_envs': are .2., but must be different ones of 2 domains"),
            ([line([0], PAIRS, step=0.5)], "'step': '0.5' is not a whole number"),
            ([RUN.replace("trial_seed", "trial")], "'args': trial_seed missing. Delete"),
            ([line([0], [(0.5, 0.5)])], "lacks accuracies"),
            ([line([0], [(0.5, 1.5), (0.5, 0.5)])], "'env0_out_acc': 1.5 must be at most 1"),
            ([line([0], PAIRS, dataset="PACS")], "PACS has 4 domains, not 2"),
            ([RUN, RUN], "1: holds the same run as 0: ERM"),
            ([RUN + "\n" + line([1], PAIRS, step=300)], "several runs"),
            ([RUN, line([1], [*PAIRS, PAIRS[0]])], "different numbers of domains"),
            ([""], "no run with records"),
            (None, "no such folder"),
        ],
    )
    def test_what_is_refused(self, tmp_path, runs, message):
        for number, text in enumerate(runs or ()):
            write_run(tmp_path / str(number), *filter(None, [text]))
        with pytest.raises(InputError, match=message):
            read_sweep(tmp_path / "absent" if runs is None else tmp_path)

    def test_no_runs_that_the_rules_apply_to(self, tmp_path, capsys):
        write_run(tmp_path / "a", RUN)
        with pytest.raises(SystemExit):
            main(["domainbed", str(tmp_path), "--rule", "leave-one-domain-out"])
        assert "no runs that the chosen rules apply to" in capsys.readouterr().err
