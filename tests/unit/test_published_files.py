"""Published results without probabilities: labels per model, archives, tables of accuracies."""

import json

import numpy as np
import pytest

from helpers import predictions
from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import InputError
from matcheval.predictions.correctness import count_hits, dataset_accuracies, dataset_correctness
from matcheval.predictions.records import write_predictions
from matcheval.predictions.softmax import write_top_k

LABELS = np.array([0, 1, 2, 1], dtype=np.int16)
FIRST = np.array([0, 1, 1, 2], dtype=np.int16)  # two right
THREE = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 0], [0, 2, 1]])  # 2, 3, 4 right


def rows(spec, models, files=()):
    """(model, top, n_correct, n) of every accuracy."""
    table = dataset_accuracies(spec, models, files).to_pylist()
    for row in table:
        assert row["n"] == 0 or row["accuracy"] == row["n_correct"] / row["n"]
    return [(r["model"], r["top"], r["n_correct"], r["n"]) for r in table]


def refuse(spec, told, models=("a",)):
    with pytest.raises(InputError) as caught:
        dataset_accuracies(spec, models)
    assert told in str(caught.value)


@pytest.fixture
def labels(tmp_path):
    """A dataset of kind `labels`: model a by JSON."""
    np.save(tmp_path / "labels.npy", LABELS)
    (tmp_path / "a.json").write_text(json.dumps(FIRST.tolist(), indent=1))
    np.save(tmp_path / "x_model.npy", THREE)

    def spec(suffix=".json", **options):
        files = {"files": f"{tmp_path}/{{model}}{suffix}", "labels": f"{tmp_path}/labels.npy"}
        return DatasetSpec("set", "labels", files | options)

    return spec


class TestLabels:
    def test_one_class_per_datapoint_or_several_by_an_alias(self, labels):
        assert rows(labels(), ["a"]) == [("a", 1, 2, 4)]
        spec = labels(".npy", aliases={"x": "x_model"})
        assert rows(spec, ["x"]) == [("x", 1, 2, 4), ("x", 2, 3, 4), ("x", 3, 4, 4)]

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ([0, 1, 2], "classes of shape (3,) for labels of shape (4,)"),
            ([0, 1, 2, -1], "row 3: class -1 is not in 0..2"),
            ([[0, 1], [1, 1], [0, 1], [0, 1]], "row 1 holds a class twice: [1, 1]"),
        ],
    )
    def test_bad_classes(self, labels, tmp_path, content, told):
        (tmp_path / "a.json").write_text(json.dumps(content))
        refuse(labels(classes=3), told)

    def test_reversed_columns_are_noticed(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 5, 200)
        first = np.where(rng.random(200) < 0.8, labels, (labels + 1) % 5)
        classes = (first[:, None] + np.arange(5)) % 5
        assert count_hits(classes, labels, file="f")[-1] == 200
        with pytest.raises(InputError, match="as if the least probable class came first"):
            count_hits(classes[:, ::-1], labels, file="f")
        for _ in range(200):  # which a model at chance is not taken for
            classes = rng.permuted(np.tile(np.arange(5), (40, 1)), axis=1)
            count_hits(classes, rng.integers(0, 5, 40), file="f")


class TestArchive:
    def spec(self, tmp_path, classes, names=("a", "b"), **options):
        np.savez(tmp_path / "all.npz", models=np.array(names), p=classes, l=LABELS)
        options = {"predictions": "p", "labels": "l"} | options
        return DatasetSpec("set", "label_archive", {"file": f"{tmp_path}/all.npz", **options})

    def test_models_or_datapoints_first(self, tmp_path):
        spec = self.spec(tmp_path, np.stack([FIRST, LABELS], axis=1))
        assert dataset_correctness(spec, ["a"]).right.tolist() == [[True, True, False, False]]
        both = np.stack([THREE, THREE[:, ::-1]])
        for classes in (both, np.swapaxes(both, 0, 1)):
            spec = self.spec(tmp_path, classes, reversed=["b"])
            assert rows(spec, ["b"]) == [("b", 1, 2, 4), ("b", 2, 3, 4), ("b", 3, 4, 4)]


class TestAccuracies:
    def spec(self, tmp_path, text, columns=None, **options):
        (tmp_path / "t.csv").write_text(text)
        columns = columns or {"model": "name", "top1": "acc"}
        options = {"file": f"{tmp_path}/t.csv", "columns": columns, **options}
        return DatasetSpec("set", "accuracies", options)

    def test_counts_come_back_whole(self, tmp_path):
        """As timm prints them: final zeros dropped, the column as a whole has the digits."""
        text = "name,acc,five\na,90.056,99\nb,90,99.014\n"
        columns = {"model": "name", "top1": "acc", "top5": "five"}
        spec = self.spec(tmp_path, text, columns, n=50_000)
        assert rows(spec, ["b", "a"]) == [
            ("b", 1, 45_000, 50_000), ("b", 5, 49_507, 50_000),
            ("a", 1, 45_028, 50_000), ("a", 5, 49_500, 50_000),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("cells", "options", "counts"),
        [
            (["88.32200622558594"], {"n": 50_000}, [44_161]),  # of single precision
            (["4279"], {"unit": "correct", "n": 10_000}, [4279]),
            (["0.25", "0", "1"], {"unit": "fraction", "n": 4}, [1, 0, 4]),
        ],
    )
    def test_units(self, tmp_path, cells, options, counts):
        text = "".join(f"{name},{cell}\n" for name, cell in zip("abc", cells, strict=False))
        spec = self.spec(tmp_path, f"name,acc\n{text}", **options)
        assert [row[2] for row in rows(spec, "abc"[: len(cells)])] == counts

    @pytest.mark.parametrize(
        ("cell", "options", "told"),
        [
            ("90.1", {"n": 50_000}, "90.1 could be 45025 to 45075 of 50000"),
            ("90.5", {"n": 7}, "90.5 is not an accuracy on 7 datapoints"),
            ("", {}, "model 'a': 'acc': 'NaN' is not in 0..100"),
        ],
    )
    def test_bad_cells(self, tmp_path, cell, options, told):
        refuse(self.spec(tmp_path, f"name,acc\na,{cell}\n", **options), told)


def test_predictions_of_ones_own(tmp_path):
    files = [str(tmp_path / f"{model}.parquet") for model in "ab"]
    write_predictions(predictions([0.5] * 3, [0, 1, 2], [0, 1, 1]), files[0])
    write_predictions(predictions([0.9] * 3, [0, 1, 1], [0, 1, 1]), files[1])
    spec = DatasetSpec("set", "predictions", {"files": "{model}"})
    assert rows(spec, "ab", files) == [("a", 1, 2, 3), ("b", 1, 3, 3)]
    found = dataset_correctness(spec, "ab", files)
    assert found.right.tolist() == [[True, True, False], [True] * 3]
    assert (found.index.tolist(), found.labels.tolist()) == ([0, 1, 2], [0, 1, 1])
    # Our own top-k classes may be right at the last only.
    top = [str(tmp_path / f"top-{model}.parquet") for model in "ab"]
    hard = predictions([0.5] * 40, [1] * 40, [0] * 40)
    for file, file_of_top in zip(files, top, strict=True):
        write_predictions(hard, file)
        write_top_k(hard.label, np.tile(np.int16([1, 2, 0]), (40, 1)), file_of_top, {})
    table = dataset_accuracies(spec, "ab", files, top)
    assert table["n_correct"].to_pylist() == [0, 0, 40] * 2
    write_predictions(predictions([0.9] * 40, [1] * 40, [1] * 40), files[1])
    for read in (dataset_accuracies, dataset_correctness):
        with pytest.raises(InputError, match="model 'b' has other indices or labels than mode"):
            read(spec, "ab", files)
