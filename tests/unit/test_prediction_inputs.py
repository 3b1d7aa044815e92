"""Prediction files as people have them: names of classes, other columns, other formats."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matcheval.cli.main import main
from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import InputError
from matcheval.predictions.correctness import dataset_accuracies, dataset_correctness
from matcheval.predictions.files import read_predictions, shared_classes
from matcheval.predictions.layout import Layout, layout_of
from matcheval.predictions.model_outputs import read_scores

PETS = ("cat", "dog", "owl")
NAMED = Layout(classes=PETS)
LABELS, PREDICTED, PROBABILITY = [2, 0, 1, 1], [2, 1, 1, 0], [0.5, 0.625, 0.75, 1.0]
NAMES = {"label": [PETS[k] for k in LABELS], "prediction": [PETS[k] for k in PREDICTED]}
MATRIX = np.array([[0.25, 0.25, 0.5], [0.25, 0.625, 0.125], [0.125, 0.75, 0.125], [1, 0, 0]])


def csv_text(columns, separator=","):
    lines = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(f"{separator.join(map(str, line))}\n" for line in lines)


def written(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def records(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def same(found):
    assert found.label.tolist() == LABELS
    assert found.prediction.tolist() == PREDICTED
    np.testing.assert_allclose(found.probability, PROBABILITY, rtol=1e-6)
    return found


COLUMNS = {"label": LABELS, "prediction": PREDICTED, "probability": PROBABILITY}
TEXTS = {
    "p.csv": csv_text(COLUMNS),
    "p.tsv": csv_text(COLUMNS, "\t"),
    "p.csv.gz": csv_text(COLUMNS),
    "p.tsv.gz": csv_text(COLUMNS, "\t"),
    "records.json": json.dumps(records(COLUMNS)),
    "columns.json": json.dumps(COLUMNS),
    "pandas.json": json.dumps({k: dict(enumerate(v)) for k, v in COLUMNS.items()}),
    "p.jsonl": "".join(json.dumps(row) + "\n\n" for row in records(COLUMNS)),
    "lines.json": "".join(json.dumps(row) + "\n" for row in records(COLUMNS)),
    "p.jsonl.gz": "".join(json.dumps(row) + "\n" for row in records(COLUMNS)),
    "texts.json": json.dumps(COLUMNS | {"label": list(map(str, LABELS))}),
    "Case.CSV": csv_text({" Label": LABELS, "PREDICTION": PREDICTED, "Probability": PROBABILITY}),
}


class TestFormats:
    @pytest.mark.parametrize("name", TEXTS)
    def test_all_give_the_same(self, tmp_path, name):
        same(read_predictions(written(tmp_path / name, TEXTS[name])))

    def test_arrays_by_class(self, tmp_path):
        arrays = {f"prob_{PETS[k]}": MATRIX[:, k] for k in range(3)}
        np.savez(tmp_path / "p.npz", label=np.array(LABELS), **arrays)
        same(read_predictions(tmp_path / "p.npz", layout=NAMED))

        np.savez(tmp_path / "q.npz", **{k: np.array(v) for k, v in COLUMNS.items()})
        same(read_predictions(tmp_path / "q.npz"))

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("p.json", "[0, 1]", "holds classes only, no probabilities"),
            ("p.json", "[", "not readable as JSON"),
            ("p.json", "3", "neither records nor columns"),
            ("p.json", '{"label": [1], "prediction": [1, 2]}', "no columns of equal lengths"),
            ("p.json", '{"label": {"0": 1}, "prediction": {"1": 1}}', "other rows than"),
            ("p.json", '[{"label": 0}, 3]', "entry 2 is not a record"),
            ("p.json", "[" * 100_000, "not readable as JSON"),
            ("p.json", '{"label": [' + "9" * 5000 + "]}", "not readable as JSON"),
            ("p.jsonl", '{"label": 0}\n{', "line 2: not readable as JSON"),
            ("p.jsonl", '{"label": [1]}\n{"label": 2}', "'label': holds values of several types"),
            ("p.jsonl", '{"label": 0}\n{"prediction": 1}', "'label': row 1 is empty"),
            ("p.jsonl", '{"label": 1, "scores": [{"label": "a"}]}', "'scores': row 0 .* no scores"),
            ("p.tsv", csv_text(COLUMNS), r"Separate the columns by commas \(.csv\) or tabs"),
        ],
    )  # fmt: skip
    def test_what_is_none_of_them(self, tmp_path, name, text, message):
        with pytest.raises(InputError, match=message) as caught:
            read_predictions(written(tmp_path / name, text))
        assert name in str(caught.value)

    @pytest.mark.parametrize("name", ["p.csv.gz", "p.jsonl.gz", "p.json"])
    def test_content_of_another_format(self, tmp_path, name):
        (tmp_path / name).write_bytes(b"\xff\x00 neither")
        with pytest.raises(InputError, match=name):
            read_predictions(tmp_path / name)


class TestNames:
    def test_names_are_labels_in_the_given_order(self, tmp_path):
        path = written(tmp_path / "p.csv", csv_text(NAMES | {"probability": PROBABILITY}))
        assert same(read_predictions(path, layout=NAMED)).metadata["n_classes"] == "3"
        other = read_predictions(path, layout=Layout(classes=PETS[::-1]))
        assert other.label.tolist() == [2 - label for label in LABELS]

    def test_of_categories_and_arrays(self, tmp_path):
        categories = {k: pa.array(v).dictionary_encode() for k, v in NAMES.items()}
        pq.write_table(pa.table(categories | {"probability": PROBABILITY}), tmp_path / "p.parquet")
        same(read_predictions(tmp_path / "p.parquet", layout=NAMED))
        np.savez(tmp_path / "p.npz", labels=np.array(NAMES["label"]), probabilities=MATRIX)
        same(read_predictions(tmp_path / "p.npz", layout=NAMED))

    def test_without_classes_the_message_says_what_to_give(self, tmp_path):
        path = written(tmp_path / "p.csv", csv_text(NAMES | {"probability": PROBABILITY}))
        with pytest.raises(InputError, match=r"'label'.*names such as 'owl'.*--classes FILE"):
            read_predictions(path)
        with pytest.raises(InputError, match=r"row 0 .* 'owl' is none of the 2 classes"):
            read_predictions(path, layout=Layout(classes=("cat", "dog")))

    def test_numbers_that_are_names_and_damaged_numbers_that_are_none(self, tmp_path):
        columns = {"label": [7, 3], "prediction": [3, 3], "probability": [0.5, 1]}
        path = written(tmp_path / "p.csv", csv_text(columns))
        found = read_predictions(path, layout=Layout(classes=("3", "7")))
        assert found.label.tolist() == [1, 0]
        path = written(tmp_path / "a.csv", csv_text(COLUMNS | {"label": [0, "[1]", 2, 1]}))
        with pytest.raises(InputError, match=r"numbers such as 0 and texts such as '\[1\]' as cla"):
            shared_classes([path])

    def test_classes_of_several_files(self, tmp_path):
        one = written(tmp_path / "a.csv", csv_text(NAMES | {"probability": PROBABILITY}))
        other = NAMES | {"label": ["ape"] * 4, "probability": PROBABILITY}
        two = written(tmp_path / "b.jsonl", "\n".join(map(json.dumps, records(other))))
        assert shared_classes([one, two]) == ("ape", "cat", "dog", "owl")
        numbers = written(tmp_path / "c.csv", csv_text(COLUMNS))
        assert shared_classes([numbers]) is None


class TestScores:
    FORMS = {
        "numbers": {f"prob_{k}": MATRIX[:, k] for k in range(3)},
        "names": {f"prob_{PETS[k]}": MATRIX[:, k] for k in (2, 0, 1)},
        "other case": {f"Prob_{PETS[k]}": MATRIX[:, k] for k in (2, 0, 1)},
        "logits": {f"logit_{PETS[k]}": np.log(MATRIX[:, k] + 1e-300) for k in (1, 2, 0)},
    }

    @pytest.mark.parametrize("form", FORMS)
    def test_a_column_per_class(self, tmp_path, form):
        path = written(tmp_path / "p.csv", csv_text({"label": NAMES["label"]} | self.FORMS[form]))
        same(read_predictions(path, layout=NAMED))
        found = read_scores(path, layout=NAMED).probabilities
        np.testing.assert_allclose(found, MATRIX, atol=1e-200)
        assert shared_classes([path]) == PETS

    def test_what_hugging_face_writes(self, tmp_path):
        by_name = [dict(zip(PETS, row, strict=True)) for row in MATRIX.tolist()]
        pairs = [
            [{"label": p, "score": row[p]} for p in sorted(row, key=row.get)] for row in by_name
        ]
        for scores in (by_name, pairs):
            rows = records({"label": NAMES["label"], "scores": scores})
            path = written(tmp_path / "p.jsonl", "\n".join(map(json.dumps, rows)))
            same(read_predictions(path, layout=NAMED))
            assert read_scores(path, layout=NAMED).probabilities.tolist() == MATRIX.tolist()

    def test_the_most_probable_only_and_lists_of_scores(self, tmp_path):
        best = [[{"label": PETS[np.argmax(r)], "score": max(r)}] for r in MATRIX.tolist()]
        for labels, scores in ((NAMES["label"], best), (LABELS, MATRIX.tolist())):
            rows = records({"label": labels, "scores": scores})
            path = written(tmp_path / "p.jsonl", "\n".join(map(json.dumps, rows)))
            same(read_predictions(path, layout=Layout() if labels is LABELS else NAMED))

    @pytest.mark.parametrize(
        ("columns", "layout", "message"),
        [
            (FORMS["names"], Layout(), "'prob_owl' have names of classes"),
            (FORMS["names"], Layout(classes=("cat", "dog")), "'prob_owl' is of no class"),
            (FORMS["names"], Layout(classes=(*PETS, "ape")), "'prob_ape' is missing"),
            ({f"p_{k + 1}": MATRIX[:, k] for k in range(3)}, Layout(), "--first-label 1"),
        ],
    )
    def test_columns_that_do_not_fit(self, tmp_path, columns, layout, message):
        path = written(tmp_path / "p.csv", csv_text({"label": LABELS} | columns))
        with pytest.raises(InputError, match=message):
            read_predictions(path, layout=layout)


class TestLayout:
    OTHERS = {"target": LABELS, "pred": PREDICTED, "conf": PROBABILITY, "label": ["x"] * 4}
    NAMES_OF = {"label": "target", "prediction": "Pred", "probability": "conf"}

    def test_columns_by_other_names(self, tmp_path):
        """A column `label` that another one stands in for is not read."""
        path = written(tmp_path / "p.csv", csv_text(self.OTHERS))
        same(read_predictions(path, layout=Layout(self.NAMES_OF)))
        with pytest.raises(InputError, match=r"no column 'goal', which was named as 'label'; fo"):
            read_predictions(path, layout=Layout({"label": "goal"}))
        columns = {"label": LABELS} | {f"score-{k}": MATRIX[:, k] for k in range(3)}
        path = written(tmp_path / "q.csv", csv_text(columns))
        same(read_predictions(path, layout=Layout({"probabilities": "score-*"})))

    def test_labels_from_1(self, tmp_path):
        from_1 = {"label": np.add(LABELS, 1), "prediction": np.add(PREDICTED, 1)}
        path = written(tmp_path / "p.csv", csv_text(from_1 | {"probability": PROBABILITY}))
        same(read_predictions(path, layout=Layout(first_label=1)))
        with pytest.raises(InputError, match=r"3 is too large.*--first-label 1"):
            read_predictions(path, n_classes=3)
        columns = {"label": from_1["label"]} | {f"p_{k + 1}": MATRIX[:, k] for k in range(3)}
        path = written(tmp_path / "q.csv", csv_text(columns))
        same(read_predictions(path, layout=Layout(first_label=1)))
        wrong = written(tmp_path / "r.csv", csv_text(COLUMNS))
        with pytest.raises(InputError, match=r"row 1 .* 0 is below 1, the first label"):
            read_predictions(wrong, layout=Layout(first_label=1))

    def test_of_a_dataset(self):
        options = {"files": "{model}.csv", "columns": {"label": "y"}, "classes": ["a", "b"]}
        spec = DatasetSpec("d", "predictions", options | {"first_label": 1})
        assert layout_of(spec) == Layout({"label": "y"}, ("a", "b"), 1)


def test_aliases(tmp_path):
    """Of prediction files, an archive and a table."""
    aliases = {"aliases": {"ours": "theirs"}}
    spec = DatasetSpec("d", "predictions", {"files": f"{tmp_path}/{{model}}.csv", **aliases})
    assert spec.results_files(["ours"]) == [f"{tmp_path}/theirs.csv"]
    arrays = {"models": ["theirs", "b"], "predictions": [[0, 1], [1, 1]], "labels": [0, 0]}
    np.savez(tmp_path / "a.npz", **{k: np.array(v) for k, v in arrays.items()})
    spec = DatasetSpec("d", "label_archive", {"file": f"{tmp_path}/a.npz", **aliases})
    table = dataset_accuracies(spec, ["ours", "b"])
    assert table["model"].to_pylist() == ["ours", "b"]
    assert table["n_correct"].to_pylist() == [1, 0]
    assert dataset_correctness(spec, ["b", "ours"]).right.tolist() == [[0, 0], [1, 0]]
    written(tmp_path / "t.csv", "model,top1\nb,90\ntheirs,80\n")
    options = {"file": f"{tmp_path}/t.csv", "columns": {"model": "model", "top1": "top1"}}
    table = dataset_accuracies(DatasetSpec("d", "accuracies", options | aliases), ["ours", "b"])
    assert table["model"].to_pylist() == ["ours", "b"]
    assert table["accuracy"].to_pylist() == [0.8, 0.9]


class TestCommandLine:
    def test_names_columns_and_classes(self, tmp_path, capsys, caplog):
        columns = {"target": NAMES["label"], "pred": NAMES["prediction"], "conf": PROBABILITY}
        arguments = [
            str(written(tmp_path / name, csv_text({k: v * n for k, v in columns.items()})))
            for name, n in (("a.csv", 20), ("b.csv", 10))
        ]
        arguments += ["--columns", "label=target,prediction=pred,probability=conf"]
        main(["compare", *arguments])
        assert "classes: the 3 names that occur in the files, sorted: cat, dog, owl" in caplog.text
        assert "50.00" in capsys.readouterr().out
        caplog.clear()
        classes = written(tmp_path / "classes.txt", "owl\ncat\ndog\n")
        arguments += ["--classes", str(classes)]
        main(["compare", *arguments])
        assert "classes:" not in caplog.text
        assert "50.00" in capsys.readouterr().out
        main(["predict-accuracy", *arguments, "--methods", "ac", "--resamples", "0"])
        assert "accuracy 50.00 %" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--columns", "label"], "'label' is not of the form ours=theirs"),
            (["--columns", "label=x,prediction=x"], "'x' is given twice"),
            (["--classes", "9" * 5000], "classes. Give a number from 1 to 32768"),
            (["--classes", "-3"], "-3 classes. Give a number"),
        ],
    )
    def test_bad_arguments(self, tmp_path, capsys, options, message):
        file = str(written(tmp_path / "p.csv", csv_text(COLUMNS)))
        with pytest.raises(SystemExit) as caught:
            main(["compare", file, file, *options])
        assert caught.value.code == 1
        assert message in capsys.readouterr().err
