"""Prediction files: accepted formats, the result of reading them, and errors for bad input."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers import written
from matcheval.accuracy_prediction.output_files import read_user_file
from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import InputError
from matcheval.predictions.correctness import dataset_accuracies, dataset_correctness
from matcheval.predictions.files import read_predictions, with_shared_classes
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import PREDICTIONS, check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable, n_tied, softmax

FINE = {"label": [0, 2, 1], "prediction": [0, 1, 1], "probability": [0.5, 0.75, 1.0]}
THREE = "label,prediction,probability\n"


def test_parquet_csv_and_npz_agree(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 4)).astype(np.float32) * 3
    labels = rng.integers(0, 4, 50)
    index = rng.permutation(50)
    scores = {"labels": labels[index], "probabilities": softmax(logits[index])}
    written(tmp_path / "b.npz", scores | {"index": index})
    read = read_predictions(written(tmp_path / "a.npz", {"labels": labels, "logits": logits}))
    types = [getattr(read, column).dtype for column in PREDICTIONS.names]
    assert types == [np.int32, np.int16, np.int16, np.float32]
    write_predictions(read, tmp_path / "c.parquet")
    write_predictions(read, tmp_path / "d.csv")
    schema = pq.read_schema(tmp_path / "c.parquet")
    assert schema.names == ["index", "label", "prediction", "probability"]
    assert schema.types == [pa.int32(), pa.int16(), pa.int16(), pa.float32()]
    for name in ("b.npz", "c.parquet", "d.csv"):
        again = read_predictions(tmp_path / name)
        for column in PREDICTIONS.names:
            np.testing.assert_array_equal(getattr(again, column), getattr(read, column))
    assert read.prediction.tolist() == logits.argmax(1).tolist()
    assert read.correct.tolist() == (logits.argmax(1) == labels).tolist()


ONE = {"labels": [0], "logits": [[0.0, 1.0]]}
HUNDRED = {"label": np.zeros(100, int), "logits": np.ones((100, 3))}
BAD_CSV = {
    "label,prediction\n0,0\n": "probability missing; found label (int64), prediction (int64). Matc",
    THREE: "no datapoints",
    f"{THREE}0,0,nan\n": "'probability': row 0 is empty or NaN",
    f"{THREE}0,0,inf\n": "row 0: inf is not a finite number",
    f"{THREE}0,0,-0.1\n0,0,2\n": "-0.1 is outside [0, 1] (and 1 more)",
    f"{THREE}0,40000,.5\n": "40000 is too large; the maximum is 32767",
    f"label,{THREE}0,0,0,.5\n": "'label': occurs twice",
    f"index,{THREE}3,0,0,.5\n3,0,0,.5\n": "'index': 3 occurs more than once",
    "": "not a readable CSV file",
    "0,1,0.5\n0,0,.5\n": "its first line is '0,1,0.5', which holds data. Write the names",
}
BAD = [
    *(("bad.csv", text, message) for text, message in BAD_CSV.items()),
    ("p.doc", "", "'.doc'. Use .parquet, .csv, .tsv"),
    ("p.csv.gz", b"\xff\x00 neither", "not a readable"),
    ("p.json", "[0, 1]", "entry 1 is not a record, but int. Write records such as"),
    ("p.npy", b"", "not a readable array"),
    ("p.json", "[", "not readable as JSON"),
    ("p.json", '{"label": [1], "prediction": [1, 2]}', "no columns of equal lengths"),
    ("p.json", '{"label": {"0": 1}, "prediction": {"1": 1}}', "other rows than"),
    ("p.json", "[" * 100_000, "not readable as JSON"),
    ("p.jsonl", '{"label": 0}\n{', "line 2: not readable as JSON"),
    ("p.jsonl", '{"label": [1]}\n{"label": 2}', "'label': holds values of several types"),
    ("p.jsonl", '{"label": 1, "scores": [{"label": "a"}]}', "'label' may be the true class"),
    ("p.parquet", FINE | {"probability": [0.5, None, 0.1]}, "'probability': row 1 is empty or NaN"),
    ("p.npz", {"labels": [0]}, "prediction, probability missing; found labels (int64). Give the "),
    ("p.npz", {"logits": ONE["logits"]}, "label missing; found logits (float64 1×2). The true cla"),
    ("p.npz", ONE | {"logits": [0.0, 1.0]}, "has shape (2,)"),
    ("p.npz", ONE | {"labels": [2]}, "2 is too large; the maximum is 1"),
    ("p.npz", {"labels": [0], "probabilities": [[-1.0, 2.0]]}, "distribution (sum 1, range -1 to"),
    ("p.npz", {"labels": [0], "probabilities": [[3.0, -1.2]]}, "name the array 'logits'"),
    ("p.npz", ONE | {"labels": [object()]}, "'labels': not a readable"),
]


class TestBadInput:
    @pytest.mark.parametrize(("name", "content", "message"), BAD)
    def test_is_named(self, tmp_path, name, content, message):
        with pytest.raises(InputError) as caught:
            read_predictions(written(tmp_path / name, content))
        assert message in str(caught.value)
        assert name in str(caught.value)
        assert "(and 0 more)" not in str(caught.value)

    @pytest.mark.parametrize(("name", "columns"), [("p.parquet", FINE), ("p.npz", HUNDRED)])
    def test_truncated(self, tmp_path, name, columns):
        path = written(tmp_path / name, columns)
        whole = path.read_bytes()
        for kept in (10, -60):
            path.write_bytes(whole[:kept])
            with pytest.raises(InputError, match=f"{name}: (not a readable|.*a damaged)"):
                read_predictions(path)

    @pytest.mark.parametrize(
        ("changes", "n_classes", "message"),
        [
            ({"label": [1]}, None, "unequal lengths"),
            ({"label": [35000] * 3}, 40000, "40000 classes"),  # int16 never wraps
            ({}, "2", "row 1: 2 is too large; the maximum is 1"),
            ({}, "ten", "'n_classes': ten classes. Give a number from 1 to"),
        ],
    )
    def test_arrays_and_numbers_of_classes(self, changes, n_classes, message):
        """As texts, these are of the metadata."""
        columns = {name: np.array(values) for name, values in (FINE | changes).items()}
        given = {"n_classes": n_classes}
        options = {"metadata": given} if isinstance(n_classes, str) else given
        with pytest.raises(InputError, match=message):
            check_predictions(columns, **options)

    def test_rounding_above_1_becomes_1(self):
        columns = {name: np.array(values) for name, values in FINE.items()}
        read = check_predictions(columns | {"probability": np.array([0.5, 1.0000001, 1.0])})
        assert read.probability.tolist() == [0.5, 1, 1]


class TestSoftmax:
    def test_by_hand(self):
        logits = np.log(np.array([[1.0, 3.0], [2.0, 2.0]]))
        np.testing.assert_allclose(softmax(logits), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)
        assert most_probable(logits, logits=True)[0].tolist() == [1, 0]

    def test_confidences_of_quantised_logits_are_rounded_once(self):
        """The order of the classes changes none; the rows are more than one block."""
        rng = np.random.default_rng(0)
        logits = (rng.integers(-128, 128, (5000, 20)) * 0.0625).astype(np.float32)
        exact = [1 / math.fsum(np.exp(row - row.max())) for row in np.float64(logits)]
        _, stored = most_probable(logits, logits=True)
        assert np.array_equal(stored, np.float32(exact))
        assert np.array_equal(stored, np.float32(softmax(logits).max(1)))
        permuted = logits[:, rng.permutation(20)]
        assert np.array_equal(most_probable(permuted, logits=True)[1], stored)

    def test_only_equal_scores_are_tied(self):
        near = [[1, 1, 0], [0, 1, 1 + 1e-12], [2, 0, 0], [3, 3, 3]]  # the second, in float64 alone
        assert [n_tied(np.array(near, kind)) for kind in (np.float64, np.float32)] == [2, 3]
        assert n_tied(np.ones((2, 1))) == 0
        prediction, probability = most_probable(np.array(near), logits=True)
        assert prediction.tolist() == [0, 2, 0, 0]
        assert probability[1] == np.float32(1 / (2 + np.exp(-1)))


# Files as people have them: names of classes, other columns, other formats

PETS = ("cat", "dog", "owl")
NAMED, FROM_1 = Layout(classes=PETS), Layout(first_label=1)
LABELS, PREDICTED, PROBABILITY = [2, 0, 1, 1], [2, 1, 1, 0], [0.5, 0.625, 0.75, 1.0]
COLUMNS = {"label": LABELS, "prediction": PREDICTED, "probability": PROBABILITY}
NAMES = {"label": [PETS[k] for k in LABELS], "prediction": [PETS[k] for k in PREDICTED]}
CLASSES = NAMES | {"probability": PROBABILITY}
MATRIX = np.array([[0.25, 0.25, 0.5], [0.25, 0.625, 0.125], [0.125, 0.75, 0.125], [1, 0, 0]])


def csv_text(columns, separator=","):
    lines = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(f"{separator.join(map(str, line))}\n" for line in lines)


def records(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def json_lines(columns, end="\n"):
    return "".join(json.dumps(row) + end for row in records(columns))


def per_class(name, matrix=MATRIX, classes=range(3)):
    return {name.format(k): matrix[:, i] for i, k in enumerate(classes)}


# Scores by class, as pairs, and of the two most probable classes only.
BY_NAME = [dict(zip(PETS, row, strict=True)) for row in MATRIX.tolist()]
PAIRS = [[{"label": p, "score": row[p]} for p in sorted(row, key=row.get)] for row in BY_NAME]
BEST = [pairs[1:] for pairs in PAIRS]

# Files with the predictions `COLUMNS`, beside those of test_foreign_files.py.
FORMS = [
    ("lines.json", json_lines(COLUMNS, "\n\n"), Layout()),
    ("names.npz", {"labels": NAMES["label"], "probabilities": MATRIX}, NAMED),
    ("names.parquet", {k: pa.array(v).dictionary_encode() for k, v in CLASSES.items()}, NAMED),
    ("best.jsonl", json_lines({"label": NAMES["label"], "scores": BEST}), NAMED),
    # A column `label` that another one stands in for is not read.
    ("other.csv", csv_text({"target": LABELS, "pred": PREDICTED, "conf": PROBABILITY,
                            "label": ["x"] * 4}),
     Layout({"label": "target", "prediction": "Pred", "probability": "conf"})),
    ("from 1.csv", csv_text({"label": np.add(LABELS, 1), "prediction": np.add(PREDICTED, 1),
                             "probability": PROBABILITY}), FROM_1),
    ("from 1, by class.csv",
     csv_text({"label": np.add(LABELS, 1)} | per_class("p_{}", classes=(1, 2, 3))), FROM_1),
]  # fmt: skip
SCORES = [
    ("names.csv", csv_text({"label": NAMES["label"]}
                           | per_class("prob_{}", MATRIX[:, ::-1], PETS[::-1]))),
    ("logits.csv", csv_text({"label": NAMES["label"]}
                            | per_class("logit_{}", np.log(MATRIX + 1e-300), PETS))),
    ("by name.jsonl", json_lines({"label": NAMES["label"], "scores": BY_NAME})),
    ("pairs.jsonl", json_lines({"label": NAMES["label"], "scores": PAIRS})),
]  # fmt: skip


ALL = FORMS + [(*one, NAMED) for one in SCORES]


@pytest.mark.parametrize(("name", "content", "layout"), ALL, ids=[name for name, *_ in ALL])
def test_all_forms_give_the_same(tmp_path, name, content, layout):
    found = read_predictions(written(tmp_path / name, content), layout=layout)
    assert found.label.tolist() == LABELS
    assert found.prediction.tolist() == PREDICTED
    np.testing.assert_allclose(found.probability, PROBABILITY, rtol=1e-6)
    if layout is NAMED:
        assert found.metadata["n_classes"] == "3"


@pytest.mark.parametrize(("name", "content"), SCORES)
def test_scores_of_all_classes(tmp_path, name, content):
    path = written(tmp_path / name, content)
    found = read_user_file(path, layout=NAMED).outputs.probabilities
    np.testing.assert_allclose(found, MATRIX, atol=1e-200)
    assert with_shared_classes([path]).classes == PETS


P_FROM_1 = {"label": LABELS} | per_class("p_{}", classes=(1, 2, 3))
BY_PET = {"label": LABELS} | per_class("prob_{}", classes=PETS[::-1])


@pytest.mark.parametrize(
    ("columns", "layout", "message"),
    [
        (CLASSES, Layout(), r"'label'.*names such as 'owl'.*classes=\[...\]"),
        (COLUMNS, Layout({"label": "goal"}), "no column 'goal', which was named as 'label'; found"),
        (COLUMNS, FROM_1, r"row 1 .* 0 is below 1, the first label"),
        (BY_PET, Layout(classes=(*PETS, "ape")), "'prob_ape' is missing"),
        (P_FROM_1, Layout(caller="command"), "--first-label 1"),
        (
            BY_PET | {"label": [*NAMES["label"][:3], "hors"]},
            Layout(classes=(*PETS, "horse")),
            "'hors' is none .*The nearest is 'horse': correct the",
        ),
    ],
)
def test_what_does_not_fit_the_layout(tmp_path, columns, layout, message):
    path = written(tmp_path / "p.csv", csv_text(columns))
    with pytest.raises(InputError, match=message):
        read_predictions(path, layout=layout)


def test_rankings_are_lists_of_falling_probabilities(tmp_path):
    lists = {"index": [[2, 0], [1, 0]], "prob": [[0.8, 0.1], [0.5, 0.5]]}
    ranked = {"filename": ["a", "b"], "target": [2, 0], **lists}
    found = read_predictions(written(tmp_path / "p.jsonl", json_lines(ranked)))
    assert found.prediction.tolist() == [2, 1]
    assert found.probability.tolist() == pytest.approx([0.8, 0.5])
    rising = ranked | {"prob": [[0.1, 0.8], [0.5, 0.5]]}
    with pytest.raises(InputError):
        read_predictions(written(tmp_path / "p.jsonl", json_lines(rising)))


def test_named_columns_come_before_rankings(tmp_path):
    columns = {
        "filename": "ab", "target": [2, 0], "label_0": [2, 1], "prob_0": [0.75, 0.5],
        "label_1": [0, 2], "prob_1": [0.25, 0.5], "mine": [0, 2], "sure": [0.875, 0.625],
    }  # fmt: skip
    path = written(tmp_path / "p.csv", csv_text(columns))
    ranked = read_predictions(path)
    assert (ranked.prediction.tolist(), ranked.probability.tolist()) == ([2, 1], [0.75, 0.5])
    named = read_predictions(path, layout=Layout({"prediction": "mine", "probability": "sure"}))
    assert (named.prediction.tolist(), named.probability.tolist()) == ([0, 2], [0.875, 0.625])
    with pytest.raises(InputError, match="column probability missing"):
        read_predictions(path, layout=Layout({"prediction": "mine"}))


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        (lambda y, z: (z, y), {"logits": "[0]", "label": "[1]"}),
        (lambda y, z: {"y": y, "logits": z, "loss": z.mean(), "path": ["a.png"] * len(y)}, {}),
    ],
)
def test_batches_of_lightning_are_joined(tmp_path, form, columns):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y, z = torch.tensor(rng.integers(0, 3, 12)), torch.tensor(rng.normal(size=(12, 3)))
    batches = [form(y[at : at + 5], z[at : at + 5]) for at in (0, 5, 10)]
    path = tmp_path / "val_logits.pt"
    torch.save(batches, path)
    found = read_predictions(path, layout=Layout(columns))
    assert np.array_equal(found.label, y)
    assert np.array_equal(found.prediction, z.argmax(dim=1))
    torch.save([batches[0], {"z": z}], path)
    with pytest.raises(InputError, match=r"batches of the same tensors.*torch\.cat"):
        read_predictions(path)


def test_numbers_that_are_names_and_damaged_numbers_that_are_none(tmp_path):
    columns = {"label": [7, 3], "prediction": [3, 3], "probability": [0.5, 1]}
    path = written(tmp_path / "p.csv", csv_text(columns))
    found = read_predictions(path, layout=Layout(classes=("3", "7")))
    assert found.label.tolist() == [1, 0]
    path = written(tmp_path / "a.csv", csv_text(COLUMNS | {"label": [0, "[1]", 2, 1]}))
    with pytest.raises(InputError, match=r"numbers such as 0 and texts such as '\[1\]' as cla"):
        with_shared_classes([path])


def test_names_that_differ_in_case_only_are_one_class(tmp_path):
    names = {"label": [name.title() for name in NAMES["label"]]}
    path = written(tmp_path / "p.csv", csv_text(CLASSES | names))
    layout = with_shared_classes([path])
    assert layout.classes == ("Cat", "Dog", "Owl")
    found = read_predictions(path, layout=layout)
    assert (found.label.tolist(), found.prediction.tolist()) == (LABELS, PREDICTED)


def test_aliases(tmp_path):
    """Of prediction files, an archive and a table."""
    aliases = {"aliases": {"ours": "theirs"}}
    spec = DatasetSpec("d", "predictions", {"files": f"{tmp_path}/{{model}}.csv", **aliases})
    assert spec.results_files(["ours"]) == [f"{tmp_path}/theirs.csv"]
    arrays = {"models": ["theirs", "b"], "predictions": [[0, 1], [1, 1]], "labels": [0, 0]}
    written(tmp_path / "a.npz", arrays)
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
