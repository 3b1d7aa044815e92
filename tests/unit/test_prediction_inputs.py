"""Prediction files as people have them: names of classes, other columns, other formats."""

import json

import numpy as np
import pyarrow as pa
import pytest

from helpers import written
from matcheval.accuracy_prediction.output_files import read_user_file
from matcheval.cli.main import main
from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import InputError
from matcheval.predictions.correctness import dataset_accuracies, dataset_correctness
from matcheval.predictions.files import read_predictions, with_shared_classes
from matcheval.predictions.layout import Layout

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
    ("filtered.json",
     json.dumps({k: dict(zip("3719", v, strict=True)) for k, v in COLUMNS.items()}), Layout()),
    ("lines.json", json_lines(COLUMNS, "\n\n"), Layout()),
    ("texts.json", json.dumps(COLUMNS | {"label": list(map(str, LABELS))}), Layout()),
    ("names.npz", {"labels": NAMES["label"], "probabilities": MATRIX}, NAMED),
    ("names.parquet", {k: pa.array(v).dictionary_encode() for k, v in CLASSES.items()}, NAMED),
    ("best.jsonl", json_lines({"label": NAMES["label"], "scores": BEST}), NAMED),
    # A column `label` that another one stands in for is not read.
    ("other.csv", csv_text({"target": LABELS, "pred": PREDICTED, "conf": PROBABILITY,
                            "label": ["x"] * 4}),
     Layout({"label": "target", "prediction": "Pred", "probability": "conf"})),
    ("prefix.csv", csv_text({"label": LABELS} | per_class("score-{}")),
     Layout({"probabilities": "score-*"})),
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
        (CLASSES, Layout(classes=("cat", "dog")), r"row 0 .* 'owl' is none of the 2 classes"),
        (COLUMNS, Layout({"label": "goal"}), "no column 'goal', which was named as 'label'; found"),
        (COLUMNS, FROM_1, r"row 1 .* 0 is below 1, the first label"),
        (BY_PET, Layout(), "'prob_owl' have names of classes"),
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
    rising, short = [[0.1, 0.8], [0.5, 0.5]], [[0.8], [0.5]]
    one_hot = ranked | {"label": [[0, 1], [1, 0]]}
    for columns in (ranked | {"prob": rising}, ranked | {"prob": short}, one_hot):
        with pytest.raises(InputError):
            read_predictions(written(tmp_path / "p.jsonl", json_lines(columns)))


@pytest.mark.parametrize(
    ("named", "prediction", "probability"),
    [
        ({}, [2, 1], [0.75, 0.5]),
        ({"probability": "sure"}, [2, 1], [0.875, 0.625]),
        ({"prediction": "mine", "probability": "sure"}, [0, 2], [0.875, 0.625]),
        ({"prediction": "mine"}, None, None),  # of which no probability is known
    ],
)
def test_named_columns_come_before_rankings(tmp_path, named, prediction, probability):
    columns = {
        "filename": "ab", "target": [2, 0], "label_0": [2, 1], "prob_0": [0.75, 0.5],
        "label_1": [0, 2], "prob_1": [0.25, 0.5], "mine": [0, 2], "sure": [0.875, 0.625],
    }  # fmt: skip
    path = written(tmp_path / "p.csv", csv_text(columns))
    if prediction is None:
        with pytest.raises(InputError, match="column probability missing"):
            read_predictions(path, layout=Layout(named))
        return
    found = read_predictions(path, layout=Layout(named))
    assert found.prediction.tolist() == prediction
    assert found.probability.tolist() == probability
    standard = columns | {"prediction": [0, 2], "probability": [0.875, 0.625]}
    found = read_predictions(written(path, csv_text(standard)))
    assert found.prediction.tolist() == [0, 2]  # as do columns with our own names
    assert found.probability.tolist() == [0.875, 0.625]


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        (lambda y, z: z, {}),
        (lambda y, z: (z, y), {"logits": "[0]", "label": "[1]"}),
        (lambda y, z: {"y": y, "logits": z, "loss": z.mean(), "path": ["a.png"] * len(y)}, {}),
    ],
)
def test_batches_of_lightning_are_joined(tmp_path, form, columns):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y, z = torch.tensor(rng.integers(0, 3, 12)), torch.tensor(rng.normal(size=(12, 3)))
    np.save(tmp_path / "val_labels.npy", y.numpy())
    batches = [form(y[at : at + 5], z[at : at + 5]) for at in (0, 5, 10)]
    path = tmp_path / "val_logits.pt"
    torch.save(batches, path)
    found = read_predictions(path, layout=Layout(columns))
    assert np.array_equal(found.label, y)
    assert np.array_equal(found.prediction, z.argmax(dim=1))
    for content in ([], [1, 2], [*batches, z[:, :2]], [batches, batches], [batches[0], {"z": z}]):
        torch.save(content, path)
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
    letters = CLASSES | {"label": ["a", "A", "b", "a"], "prediction": ["a", "a", "b", "A"]}
    path = written(tmp_path / "q.csv", csv_text(letters))  # of which one column has both
    assert with_shared_classes([path]).classes == ("A", "a", "b")


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


def test_options_of_commands(tmp_path, capsys, caplog):
    caplog.set_level("INFO")
    columns = {"target": NAMES["label"], "pred": NAMES["prediction"], "conf": PROBABILITY}
    files = [
        str(written(tmp_path / name, csv_text({k: v * n for k, v in columns.items()})))
        for name, n in (("a.csv", 20), ("b.csv", 10))
    ]
    classes = str(written(tmp_path / "classes.txt", "owl\ncat\ndog\n"))
    arguments = [*files, "--columns", "label=target,prediction=pred,probability=conf"]
    for more, is_told in (([], True), (["--classes", classes], False)):
        caplog.clear()
        main(["compare", *arguments, *more])
        told = "classes: the 3 names that occur in the files, sorted: cat, dog, owl"
        assert (told in caplog.text) == is_told
        assert "50.00" in capsys.readouterr().out
