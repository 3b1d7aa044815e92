"""Suites in the configuration: what they expand to, and what is refused."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from image_sets import dataset, write_files
from matcheval.analyses.suite_accuracies import SuiteCorrectness, tabulate_suite
from matcheval.datasets.folders import read_description, write_dataset
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.prepare import build_dataset
from matcheval.datasets.suites import (
    AllLabels,
    Member,
    Suite,
    read_members,
    right_predictions,
    write_suite,
)
from matcheval.errors import InputError
from matcheval.io.self_digests import read_json
from matcheval.predictions.correctness import Correctness
from matcheval.predictions.records import Predictions, write_predictions
from matcheval.study.suites import expand_suites
from matcheval.study.tables import SuiteFiles
from studies import configuration, load

DIGITS = [str(i) for i in range(10)]
BLOCK = {"kind": "arrays", "max_value": 16, "classes": DIGITS}
PATTERN = {**BLOCK, "file": "shifts/{corruption}/{severity}/set.npz"}


@pytest.fixture
def shifts(tmp_path, monkeypatch):
    """Folders of corruptions and severities, in which files of images would lie."""
    monkeypatch.chdir(tmp_path)
    places = ("blur/1", "blur/2", "blur/10", "fog/1")
    write_files(tmp_path / "shifts", {f"{place}/set.npz": b"" for place in places})
    return PATTERN


def expand(*members, named=("known", "new"), **others):
    return expand_suites({"s": {"members": members}, **others}, named)


def test_a_pattern_stands_for_the_files_that_it_matches(shifts):
    found = expand(
        "known",
        {"dataset": shifts, "name": "{corruption}.{severity}", "group": "weather-{corruption}",
         "subgroup": "{corruption}", "severity": "{severity}", "classes": ["3", "7"]},
    )  # fmt: skip
    names = ["known", "blur.1", "blur.2", "blur.10", "fog.1"]  # 10 comes after 2
    assert found.suites["s"].datasets == names
    assert found.suites["s"].members[0] == Member("known")
    assert found.suites["s"].members[3] == Member(
        "blur.10", "weather-blur", "blur", 10.0, ("3", "7")
    )
    assert found.datasets["blur.10"] == {**shifts, "file": "shifts/blur/10/set.npz"}
    assert list(found.datasets) == names[1:]


def test_suites_are_nested_and_share_their_sets(shifts):
    inner = {"members": [{"dataset": shifts, "severity": "{severity}"}]}
    other = {"members": ["new", {"suite": "inner"}]}
    found = expand({"suite": "inner"}, {"suite": "other"}, inner=inner, other=other)
    assert found.suites["s"].members[:4] == found.suites["inner"].members
    assert found.suites["s"].datasets[4:] == ["new"]
    assert len(found.datasets) == 4


def test_a_manifest_lists_members(shifts, tmp_path):
    rows = "name,file,group,severity,classes,note\none,shifts/blur/1/set.npz,blur,1,3; 7,\n"
    (tmp_path / "sets.csv").write_text(f"{rows}two,,,,,the base\n")
    found = expand({"manifest": "sets.csv", "dataset": BLOCK, "group": "other"})
    assert found.suites["s"].members == (
        Member("one", "blur", "", 1.0, ("3", "7")), Member("two", "other"),
    )  # fmt: skip
    assert found.datasets["one"] == {**BLOCK, "file": "shifts/blur/1/set.npz"}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["old"], r"members, entry 1': unknown dataset 'old'"),
        ([{"suite": "s"}], r"suite 's' is nested in itself"),
        ([{"dataset": {"file": "x/{a}/y"}}],
         r"no file or folder matches x/\{a\}/y.*list the 'val"),
        ([{"dataset": "known", "suite": "s"}], r"give one of 'dataset', 'suite', 'manifest' and"),
        ([{"manifest": "path.csv"}], r"path\.csv, line 2: 'path' has no effect"),
    ],
)  # fmt: skip
def test_bad_members_are_refused(shifts, tmp_path, members, message):
    (tmp_path / "path.csv").write_text("name,dataset,path\nx,known,elsewhere\n")
    with pytest.raises(InputError, match=message):
        expand(*members)


def test_a_study_evaluates_models_on_its_suites(tmp_path, shifts):
    config = configuration("digits") | {"results": str(tmp_path / "results")}
    config["suites"] = {"s": {"members": ["digits-train", {"dataset": shifts}]}}
    study = load(config)
    sets = ("digits-train", "blur-1", "blur-2", "blur-10", "fog-1")
    assert study.predicting.single == ["digits-known", "digits-new-writers"]
    assert study.predicting.suites == {"s": list(sets)}
    assert set(sets) < set(study.used)
    folder = f"{tmp_path}/results/digits/predictions"
    assert study.results_inputs("fog-1", ["linear-ce"]) == [f"{folder}/s/linear-ce"]
    assert study.predictions_file("fog-1", "m.x") == f"{folder}/fog-1/m.x.parquet"  # an analysis's
    assert study.predictions_file("fog-1", "linear-ce") == f"{folder}/s/linear-ce/fog-1.parquet"
    with pytest.raises(InputError, match="names neither pairs nor suites"):
        load({**config, "pairs": {}, "matching": {}, "suites": {}})
    config["suite_accuracies"] = {"suites": {"s": "digits-known"}}
    inputs = load(config).analyses["suite_accuracies"].inputs(SimpleNamespace(suite="s"))
    described = {f"{tmp_path}/results/datasets/{name}/dataset.json" for name in sets}
    assert described < set(inputs)  # its job reads them, and no other had them made again


def write(folder, name, labels, classes=DIGITS):
    dataset(np.zeros((len(labels), 8, 8, 1), np.uint8), labels, name, classes, 16, folder)
    return folder / name


def test_prepared_sets_are_checked_against_each_other(tmp_path):
    first = build_dataset("a", "digits", {"part": "known"})
    write_dataset(first, tmp_path / "a")
    folders = {"a": tmp_path / "a", "b": write(tmp_path, "b", np.array([3, 3, 4]))}
    members = (Member("a"), Member("b", classes=("3", "9")), Member("file-only"))
    write_suite(suite=Suite("s", members), folders=folders, index=tmp_path / "s.json")
    assert read_members(tmp_path / "s.json") == ["a", "b"]
    # What the sets hold, so that the analyses of a suite are repeated when one of them changes.
    described = {name: read_description(folder)["sha256"] for name, folder in folders.items()}
    assert described.items() <= read_json(tmp_path / "s.json").items()
    folders["b"] = write(tmp_path / "moved", "b", np.array([1, 2]), DIGITS[::-1])
    with pytest.raises(InputError, match="classes in another order: 0 is '9', not '0'"):
        write_suite(suite=Suite("s", members[:2]), folders=folders, index=tmp_path / "t.json")
    assert not (tmp_path / "t.json").exists()


def test_accuracies_on_a_suite_by_hand():
    """Where a member names classes, its datapoints and the base's of these classes count."""
    models, index = ("m", "n"), np.arange(4)
    of = {
        "base": ([0, 0, 1, 1], [[1, 1, 1, 0], [1, 0, 0, 0]]),
        "a": ([0, 1, 1, 1], [[1, 0, 1, 1], [0, 0, 0, 0]]),
        "b": ([1, 0, 1, 0], [[1, 0, 0, 0], [1, 1, 0, 1]]),
    }
    known = {
        name: Correctness(models, index, np.array(labels), np.array(right, bool))
        for name, (labels, right) in of.items()
    }
    suite = Suite("s", (Member("a", "g", "", 2.0), Member("b", classes=("one",))))
    table = tabulate_suite(suite, "base", lambda name, _: known[name], {"b": np.array([1])})
    assert table.accuracy_set.tolist() == [0.75, 0.0, 0.5, 0.5]
    assert table.accuracy_base.tolist() == [0.75, 0.25, 0.5, 0.0]
    assert table.gap.tolist() == [0.0, 0.25, 0.0, -0.5]
    assert table.n_set.tolist() == [4, 4, 2, 2]
    assert table.severity.isna().tolist() == [False, False, True, True]


ODD = (("odd", ("1", "3", "5")), ("even", ("0", "2")))


def labelled(folder, text):
    """Labels of images by their numbers in rows of text."""
    rows = re.sub(r"^(\d),", r"0000\1,", text, flags=re.MULTILINE)
    (folder / "labels.csv").write_text(rows)
    return AllLabels(folder / "labels.csv", folder / "b", ODD)


def test_images_may_have_several_labels_of_groups(tmp_path):
    write(tmp_path, "b", np.array([3, 2, 0]))
    found = labelled(tmp_path, "name,labels\n0,even; odd\n2,even\n1,2\nmore,7\n").read()
    assert found.tolist() == [[0, 1], [2, -1], [0, -1]]
    right = [right_predictions(np.full(3, p), found, ODD, DIGITS).tolist() for p in (5, 0, 9)]
    assert right == [[True, False, False], [True, True, True], [False] * 3]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("0,odd\n1,even", "no row of image '00002'"),
        ("0,odd\n1,even\n2,odd", "own label of '00002', 0, is not among"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, rows, said):
    write(tmp_path, "b", np.array([3, 2, 0]))
    with pytest.raises(InputError, match=said):
        labelled(tmp_path, f"name,labels\n{rows}\n").read()


def test_groups_are_read_from_the_configuration_or_a_file(shifts, tmp_path):
    groups = {"odd": ["1", "3"], "even": ["2"]}
    (tmp_path / "g.yaml").write_text("odd: ['1', '3']\neven: ['2']\n")
    block = {"dataset": shifts, "all_labels": "{corruption}.csv", "values": {"corruption": ["fog"]}}
    for given in (groups, "g.yaml"):
        (found,) = expand({**block, "groups": given}).suites["s"].members
        assert found.groups == (("odd", ("1", "3")), ("even", ("2",)))
        assert (found.counting, found.all_labels) == (("1", "3", "2"), "fog.csv")
    with pytest.raises(InputError, match="class '2' is in 'even' and in 'prime'"):
        expand({**block, "groups": {**groups, "prime": ["2"]}})


def test_a_prediction_of_the_group_is_right(tmp_path):
    """On set and base; the base counts where its class is in a group."""
    write(tmp_path, "base", np.array([1, 0, 7]))
    write(tmp_path, "b", np.array([3, 2, 0]))
    labelled(tmp_path, "name,labels\n0,odd\n1,even;odd\n2,even\n")
    for name, labels, predicted in (("base", [1, 0, 7], [5, 9, 7]), ("b", [3, 2, 0], [9, 1, 2])):
        rows = (np.arange(3), np.array(labels), np.array(predicted), np.full(3, 0.5))
        write_predictions(Predictions(*rows), tmp_path / "p" / name / "m.parquet")
    suite = Suite("s", (Member("b", groups=ODD, all_labels=str(tmp_path / "labels.csv")),))
    specs = {name: DatasetSpec(name, "arrays", {}) for name in ("base", "b")}
    folders = {name: tmp_path / name for name in specs}
    stems = {name: f"{tmp_path}/p/{name}/{{model}}" for name in specs}
    found = SuiteCorrectness(SuiteFiles(suite, "base", specs, folders, stems, ["m"]))
    table = tabulate_suite(suite, "base", found, found.counting)
    assert table[["accuracy_set", "n_set", "accuracy_base", "n_base"]].to_numpy().tolist() == [
        [pytest.approx(2 / 3), 3, 0.5, 2]
    ]
