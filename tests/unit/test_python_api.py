"""`import matcheval`: the numbers of the commands, from files, tables and arrays; and refusals."""

import copy
import dataclasses
import doctest
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import matcheval as me
import python_api
from helpers import matched, simulate, told_json
from matcheval.cli.main import main
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Pair
from matcheval.predictions.correctness import dataset_accuracies
from matcheval.predictions.files import read_predictions
from matcheval.predictions.records import write_predictions
from matcheval.replication.tables import tabulate_replication

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of two models on two sets, and one model's logits on these."""
    folder = tmp_path_factory.mktemp("predictions")
    rng = np.random.default_rng(5)
    for part, n, accuracy in (("old", 500, 0.9), ("new", 260, 0.7)):
        (folder / part).mkdir()
        label = rng.integers(0, 5, n)
        for i, model in enumerate("ab"):
            found = simulate(n, 5, 10 * n + i, accuracy=accuracy - 0.1 * i, label=label)
            write_predictions(found, folder / part / f"{model}.csv")
        likely = np.where(rng.random(n) < accuracy, label, 0)
        logits = rng.normal(size=(n, 5)) + 2 * np.eye(5)[likely]
        np.savez(folder / part / "c.npz", labels=label, logits=logits)
    return folder


@pytest.fixture
def files(folder):
    """Files of model a."""
    return folder / "old" / "a.csv", folder / "new" / "a.csv"


@pytest.fixture
def patterns(folder):
    """Patterns of the files of both models."""
    return [str(folder / part / "{model}.csv") for part in ("old", "new")]


def in_forms(path):
    """The same predictions as a DataFrame, an Arrow table and arrays."""
    frame = pd.read_csv(path)
    shuffled = frame.sample(frac=1, random_state=1)  # `index` says which row is which
    arrays = {name: frame[name].tolist() for name in frame}
    return [frame, pa.Table.from_pandas(shuffled), arrays]


@pytest.mark.parametrize(
    ("command", "table", "options"),
    [
        ("compare", "means", {"seeds": 2, "epsilon": 0.01}),
        ("match", "runs", {"seeds": 3}),
        ("predict-accuracy", "predictions", {"resamples": 5}),
    ],
)
@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
def test_commands_print_what_the_functions_return(
    folder, tmp_path, capsys, command, table, options
):
    both = [str(folder / part / "c.npz") for part in ("old", "new")]
    result = getattr(me, command.replace("-", "_"))(*both, **options)
    line = [command, *both, *(f"--{name}={value}" for name, value in options.items())]
    line += ["--output", str(tmp_path), "--pairs"] if command == "match" else []
    main([*line, "--json"])
    found = pd.DataFrame(told_json(capsys.readouterr().out)[table])
    expected = result.to_pandas(all=True)
    expected = expected[[name for name in expected if name in found]]
    assert len(expected.columns) > 10
    found = found[[*expected]].astype(expected.dtypes)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-14)
    assert (tmp_path / "pairs.parquet").is_file() == (command == "match")


class TestCompare:
    def test_tables_and_arrays_are_as_files(self, files):
        by_files = me.compare(*files, seeds=3)
        for given in zip(*map(in_forms, files), strict=True):
            result = me.compare(*given, seeds=3, names=("old/a", "new/a"))
            for table in ("gaps", "models", "accuracies"):
                found = result.to_pandas(table, all=True)
                pd.testing.assert_frame_equal(found, by_files.to_pandas(table, all=True))
        first = by_files.to_pandas().iloc[0]
        gap = by_files.gaps["label_probability"].gap
        assert dataclasses.astuple(gap) == tuple(first[["gap", "gap_low", "gap_high"]])
        for kind, panels in (("gaps", 2), ("confidence", 1), ("reliability", 2)):
            assert len(result.plot(kind, criterion="probability").axes) >= panels

    def test_many_models_by_name_or_by_pattern(self, folder, patterns):
        by_pattern = me.compare(*patterns, seeds=2, criteria="probability")
        sets = [
            {model: pd.read_csv(folder / part / f"{model}.csv") for model in "ab"}
            for part in ("old", "new")
        ]
        by_name = me.compare(*sets, seeds=2, criteria=["probability"], names=("old", "new"))
        for table in ("gaps", "models"):
            found = by_name.to_pandas(table, all=True)
            pd.testing.assert_frame_equal(found, by_pattern.to_pandas(table, all=True))
        assert by_name.models == by_pattern.models == ("a", "b")
        with pytest.raises(me.InputError, match="reliability diagram is of one model, not of 2"):
            by_name.plot("reliability")

    @pytest.mark.slow
    def test_further_analyses_have_the_matched_gaps_of_the_models(self, patterns, tmp_path):
        names, key = ["mcnemar", "class_gaps", "epsilon_sweep"], ["model", "criterion"]
        result = me.compare(*patterns, seeds=2, analyses=names)
        models = result.to_pandas("models", all=True).set_index(key)["matched_gap"]
        seeds, classes, sweep = map(result.to_pandas, names)
        for table in seeds, classes[classes["class"] == -1], sweep[sweep["epsilon"] == 0.005]:
            found = table.groupby(key)["matched_gap"].mean()
            np.testing.assert_allclose(found[models.index], models, atol=1e-12)
        assert result.plot("epsilon_sweep").axes
        written = {path.relative_to(tmp_path).as_posix() for path in result.save(tmp_path)}
        assert {"mcnemar/pair.csv", "figures/epsilon_sweep/pair.svg"} < written

    def test_groups_and_the_source_are_taken_over(self):
        of = simulate(60, 3, 1)
        columns = {name: getattr(of, name) for name in ("label", "prediction", "probability")}
        grouped = columns | {"group": np.repeat(["x", "y", "z"], 20)}
        with pytest.warns(me.InputWarning, match="both sets hold the same predictions"):
            result = me.compare(grouped, grouped, source="replication", paired=True, seeds=1)
        assert result.to_pandas(all=True).n_groups.tolist() == [3, 3]
        assert result.source == "replication"


class TestPredictAccuracy:
    def test_arrays_are_as_files(self, folder):
        base, target = folder / "old" / "c.npz", folder / "new" / "c.npz"
        arrays = dict(np.load(base)), dict(np.load(target))
        by_files = me.predict_accuracy(base, [target], resamples=5)
        by_arrays = me.predict_accuracy(arrays[0], {"c": arrays[1]}, resamples=5)
        found = by_files.to_pandas(all=True)
        pd.testing.assert_frame_equal(found, by_arrays.to_pandas(all=True), check_exact=True)
        first = by_files.predictions[0]
        assert (first.method, first.predicted.value) == ("ac", found["predicted"][0])

    def test_features_calibration_and_missing_labels(self):
        rng = np.random.default_rng(2)

        def outputs(shift):
            labels = rng.integers(0, 4, 300)
            features = rng.normal(size=(300, 6)) + 2 * np.eye(6)[labels] + shift
            return {"labels": labels, "logits": features[:, :4], "features": features}

        base, *sets, target = (outputs(shift) for shift in (0.0, 0.1, 0.3, 0.5, 0.2))
        del target["labels"]
        order = rng.permutation(300)  # rows in another order, with their positions
        mixed = {name: target[name][order] for name in target} | {"index": order}
        values = []
        for given in (target, mixed):
            result = me.predict_accuracy(
                base, given, methods=["ac", "doc", "frechet"], calibration=sets, resamples=0
            )
            assert not any(one.reason for one in result.predictions)
            assert all(np.isnan(one.accuracy) for one in result.predictions)
            values.append([one.predicted.value for one in result.predictions])
        assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.filterwarnings("ignore:no fits")
class TestReplicationTable:
    def test_has_the_workflows_numbers(self, patterns):
        tables = []
        for part, pattern in zip(("old", "new"), patterns, strict=True):
            spec = DatasetSpec(part, "predictions", {"files": pattern})
            tables.append(dataset_accuracies(spec, "ab", spec.results_files("ab")))
        expected = tabulate_replication(*tables, Pair("pair", "old", "new"))
        with pytest.warns(me.InputWarning, match="no fits: a line needs at least 3 models, not 2"):
            result = me.replication_table(*patterns, names=("old", "new"))
        pd.testing.assert_frame_equal(result.to_pandas(all=True), expected)
        with pytest.raises(me.InputError, match="no fit on the scale 'linear'"):
            result.plot()

    def test_a_worked_example(self, tmp_path):
        """Three models on a line of slope 2; without n, no intervals."""
        old = pd.DataFrame({"model": list("abc"), "accuracy": [0.9, 0.8, 0.7]})
        new = pd.DataFrame({"model": list("cab"), "accuracy": [0.4, 0.8, 0.6]})
        old.to_csv(tmp_path / "old.csv", index=False)
        result = me.replication_table(tmp_path / "old.csv", new, resamples=50)
        line = result.fits["linear"]
        assert (line.slope, line.offset, line.r_squared) == pytest.approx((2, -100, 1))
        assert result.change == pytest.approx(-0.2)
        assert (result.models, result.spearman) == (("a", "b", "c"), pytest.approx(1))
        assert result.to_pandas(all=True).accuracy_original_low.isna().all()
        assert result.plot("probit").axes
        with_n = me.replication_table(old.assign(n=10), new.assign(n=5), resamples=50)
        assert with_n.to_pandas(all=True).n_correct_replication.tolist() == [4, 3, 2]

    def test_top_k_from_scores_and_from_ranked_classes(self):
        logits = np.array([[3.0, 2.0, 1.0], [0.0, 5.0, 6.0], [1.0, 1.0, 2.0]])
        scores = {"labels": [1, 0, 0], "logits": logits}
        ranked = {"labels": [1, 0, 0], "prediction": np.array([[0, 1, 2], [2, 1, 0], [2, 0, 1]])}
        for top, correct in ((1, 0), (2, 2), (3, 3)):
            table = me.replication_table({"m": scores}, {"m": ranked}, top=top).to_pandas(all=True)
            assert table.n_correct_original.tolist() == [correct]
            assert table.n_correct_replication.tolist() == [correct]

    def test_the_same_images(self):
        given = {"labels": [0, 1, 1, 0], "prediction": [0, 1, 0, 0]}
        ranked = np.array([[1, 0], [1, 0], [0, 1], [1, 0]])
        worse = {"labels": [0, 1, 1, 0], "prediction": ranked}
        mixed = {"labels": [1, 0, 0, 1], "prediction": [0, 0, 1, 1], "index": [2, 0, 3, 1]}
        models = {"m": given, "n": mixed}  # n names its rows in another order
        both = me.replication_table(models, {"m": worse, "n": worse}, paired=True).to_pandas(
            all=True
        )
        assert both.accuracy_original.tolist() == [0.75, 0.5]
        assert both.z[0] == pytest.approx(3**0.5)  # differences 1, 0, 0 and 1


def outputs(n, seed, noise=0.0, labels=None):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n) if labels is None else labels
    return {"labels": labels, "logits": rng.normal(size=(n, 3)) + (2 - noise) * np.eye(3)[labels]}


OLD, NEW = outputs(120, 0), outputs(80, 1, 0.8)
FEW = {"index": range(40), "label": NEW["labels"][:40]}
RESULTS = {
    "compare": lambda: me.compare(OLD, NEW, seeds=2, analyses="mcnemar"),
    "match": lambda: me.match(OLD, NEW, seeds=2),
    "compare_models": lambda: me.compare_models(OLD, outputs(120, 2, 1, OLD["labels"])),
    "predict_accuracy": lambda: me.predict_accuracy(OLD, NEW, resamples=2),
    "label_plan": lambda: me.label_plan(NEW),
    "estimate_accuracy": lambda: me.estimate_accuracy(NEW, FEW, assume_random=True),
    "estimate_difference": lambda: me.estimate_difference(
        NEW, outputs(80, 3, 1, NEW["labels"]), FEW, assume_random=True
    ),
    "replication_table": lambda: me.replication_table(
        *(
            {f"m{i}": outputs(n, i, 1 - i / 3, one["labels"][:n]) for i in range(3)}
            for n, one in ((60, OLD), (50, NEW))
        ),
        resamples=20,
    ),
}


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_what_every_result_can_do(name):
    result = RESULTS[name]()
    assert re.fullmatch(r"(<p>.+?</p>)+<table.+</table>", result._repr_html_(), re.DOTALL)
    for again in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert str(again) == str(result)
        pd.testing.assert_frame_equal(again.to_pandas(all=True), result.to_pandas(all=True))
    few, everything = result.to_pandas(), result.to_pandas(all=True)
    assert {*few} <= {*everything}
    assert len(few.columns) <= 20
    pd.testing.assert_frame_equal(few, everything[few.columns])
    assert result.plot()._repr_png_().startswith(b"\x89PNG")


def test_results_are_saved(files, tmp_path):
    result = me.match(*files, seeds=3, epsilon=0.01, model="m", pair="p")
    written = result.save(tmp_path / "saved", pairs=True)
    assert [path.name for path in written] == ["runs.parquet", "runs.csv", "pairs.parquet"]
    runs = pd.read_parquet(written[0])
    pd.testing.assert_frame_equal(runs, result.to_pandas(all=True))
    expected = matched(*map(read_predictions, files), seeds=range(3), epsilon=0.01).measured
    np.testing.assert_allclose(runs, np.transpose([expected[name] for name in runs]))


@pytest.mark.usefixtures("undrawn")
def test_a_report_alone_is_that_of_the_folder(files, tmp_path):
    result = me.compare(*files, seeds=2)
    with pytest.warns(DeprecationWarning, match="`write` is called `save`"):
        written = result.write(tmp_path / "all")
    page = result.report(tmp_path / "alone.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "all/report.html").read_text("utf-8")
    assert tmp_path / "all" / "report.html" in written


def test_the_interface_is_the_committed_one():
    """If a change is intended: PYTHONPATH=workflow_scripts python tests/python_api.py."""
    assert python_api.described() == python_api.FILE.read_text(encoding="utf-8")


def test_the_import_loads_nothing():
    """The functions load what they need when they are used, and never torch or Snakemake."""
    code = (
        "import sys, matcheval as me\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'numba', 'matplotlib', 'torch', 'snakemake'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "given = {'labels': [0, 1], 'logits': [[1.0, 0.0], [0.2, 0.4]]}\n"
        "me.match(given, given), me.predict_accuracy(given, given, resamples=0)\n"
        "print(sorted({'torch', 'torchvision', 'timm', 'snakemake'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    folder = ROOT / "workflow_scripts"
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


@pytest.mark.parametrize(
    "name",
    [
        "api.comparing", "api.comparing_models", "api.predicting",
        "api.replicating", "few_labels.accuracy", "few_labels.differences", "few_labels.plans",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
def test_examples_of_docstrings_are_right(name):
    found = doctest.testmod(import_module(f"matcheval.{name}"))
    assert found.attempted > 2
    assert not found.failed


GOOD = {"labels": [0, 1, 2], "prediction": [0, 1, 1], "probability": [0.9, 0.8, 0.7]}
LOGITS = {"labels": [0, 1], "logits": [[1.0, 2.0], [0.5, -1.0]]}
BAD = [
    (GOOD | {"labels": None}, "'labels': is a single value, not an array"),
    (GOOD | {"labels": [[0, 1], [2]]}, "'labels': list is not an array"),
    (GOOD | {"logits": (np.eye(2), np.eye(3))}, "Give one array of the 2: logits[0], if scores"),
    (GOOD | {"probability": np.ma.masked_less([0.9, 0.1, 0.7], 0.5)}, "1 values are masked"),
    (np.zeros((3, 2)), "original: ndarray is neither a file nor a table nor arrays"),
    ({"m": GOOD}, "one set has a model's name with its predictions, the other has none"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_named(given, message):
    other = LOGITS if isinstance(given, dict) and "logits" in given else GOOD
    with pytest.raises(me.InputError, match=re.escape(message)):
        me.compare(given, other)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
def test_arrays_of_other_kinds_are_taken_over(tmp_path):
    """Objects that are all whole numbers, tables as logits, open archives, half precision."""
    logits = np.array(LOGITS["logits"])
    np.savez(tmp_path / "c.npz", labels=[0, 1], logits=logits)
    for given in (
        {"labels": np.array([0, 1], object), "logits": logits.astype(np.float16)},
        {"labels": pd.Series([0, 1]), "logits": pd.DataFrame(logits)},
        np.load(tmp_path / "c.npz"),
    ):
        assert me.match(given, LOGITS, seeds=1, epsilon=0.01).matched_accuracy_source == 0
    np.savez(tmp_path / "c.npz", labels=np.array([0, None]), logits=logits)
    with pytest.raises(me.InputError, match=r"original: .labels.: .*Object arrays cannot be"):
        me.match(np.load(tmp_path / "c.npz"), LOGITS)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: me.compare(GOOD, GOOD, criteria="both"), "unknown criterion 'both'"),
        (lambda: me.compare(GOOD, GOOD, analyses="x"), "unknown analysis 'x'. Known: mcnemar"),
        (lambda: me.compare(GOOD, GOOD, columns={"lable": "y"}), "there is no column 'lable'"),
        (lambda: me.compare(GOOD, GOOD, paired=True, groups_shared=True),
         "groups are shared, but not known"),
        (lambda: me.compare({"a": GOOD}, {"b": GOOD}), "2 models with predictions on one set only"),
        (lambda: me.predict_accuracy(GOOD, GOOD, methods="acc"), "unknown method 'acc'"),
        (lambda: me.compare(GOOD, GOOD).to_pandas("means"), "unknown table 'means'"),
        (lambda: me.predict_accuracy(GOOD, GOOD, calibration=[GOOD]), "1 sets to calibrate on"),
        (lambda: me.predict_accuracy(LOGITS | {"features": np.zeros((3, 2))}, LOGITS),
         "base: 'features': has shape (3, 2)"),
        (lambda: me.replication_table(*[{"model": ["a"], "accuracy": [93.5]}] * 2),
         "original, model 'a': 'accuracy': '93.5' is not in 0..1"),
    ],
)  # fmt: skip
def test_bad_calls_are_named(call, message):
    with pytest.raises(me.InputError, match=re.escape(message)):
        call()
