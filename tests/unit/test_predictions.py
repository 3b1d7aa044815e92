"""Prediction files: accepted formats, the result of reading them, and errors for bad input."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import written
from matcheval.errors import InputError
from matcheval.predictions.files import read_predictions
from matcheval.predictions.records import PREDICTIONS, check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable, n_tied, softmax

FINE = {"label": [0, 2, 1], "prediction": [0, 1, 1], "probability": [0.5, 0.75, 1.0]}
THREE = "label,prediction,probability\n"


class TestReading:
    def test_parquet_csv_and_npz_agree(self, tmp_path):
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

    def test_metadata_survives_and_foreign_metadata_does_not(self, tmp_path):
        foreign = {"pandas": "{}", b"camera": b"\xff\xfe"}
        table = pa.table(FINE).replace_schema_metadata({"model": "m", **foreign})
        pq.write_table(table, tmp_path / "p.parquet")
        found = read_predictions(tmp_path / "p.parquet").metadata
        assert found == {"model": "m", "camera": "\ufffd\ufffd"}


ONE = {"labels": [0], "logits": [[0.0, 1.0]]}
HUNDRED = {"labels": np.zeros(100, int), "logits": np.ones((100, 3))}
BAD_CSV = {
    "label,prediction\n0,0\n": "probability missing; found label (int64), prediction (int64). Matc",
    "a,b\n0,0\n": "probability missing; found a (int64), b (int64). Give the",
    THREE: "no datapoints",
    f"{THREE}0,0,nan\n": "'probability': row 0 is empty or NaN",
    f"{THREE}0,0,inf\n": "row 0: inf is not a finite number",
    f"{THREE}0,0,.5\n0,0,1.01\n": "row 1: 1.01 is outside [0, 1]",
    f"{THREE}0,0,-0.1\n0,0,2\n": "-0.1 is outside [0, 1] (and 1 more)",
    f"{THREE}-1,0,.5\n": "'label': row 0: -1 is negative",
    f"{THREE}0,40000,.5\n": "40000 is too large; the maximum is 32767",
    f"{THREE}0.5,0,.5\n": "'label': row 0: 0.5 is not a whole number",
    f"{THREE}cat,0,.5\n": "'label': has dtype object",
    f"{THREE}0,0,high\n": "'probability': has dtype object",
    f"{THREE}0,0,.5\n0,,.5\n": "'prediction': row 1 is empty or NaN",
    f"label,{THREE}0,0,0,.5\n": "'label': occurs twice",
    f"index,{THREE}3,0,0,.5\n3,0,0,.5\n": "'index': 3 occurs more than once",
    f"index,{THREE}-3,0,0,.5\n": "'index': row 0: -3 is negative",
    f"{THREE}0,0\n": "not a readable CSV file",
    "": "not a readable CSV file",
    "0,1,0.5\n0,0,.5\n": "its first line is '0,1,0.5', which holds data. Write the names",
}
NESTED = "[" * 100 + "1" + "]" * 100
BAD = [
    *(("bad.csv", text, message) for text, message in BAD_CSV.items()),
    ("p.doc", "", "'.doc'. Use .parquet, .csv, .tsv"),
    ("p.csv.gz", b"\xff\x00 neither", "not a readable"),
    ("p.jsonl.gz", b"\xff\x00 neither", "not a readable"),
    ("p.json", b"\xff\x00 neither", "not a readable"),
    ("p.json", "[0, 1]", "entry 1 is not a record, but int. Write records such as"),
    ("p.npy", b"", "not a readable array"),
    ("p.json", "[", "not readable as JSON"),
    ("p.json", "3", "neither records nor columns"),
    ("p.json", '{"label": [1], "prediction": [1, 2]}', "no columns of equal lengths"),
    ("p.json", '{"label": {"0": 1}, "prediction": {"1": 1}}', "other rows than"),
    ("p.json", '[{"label": 0}, 3]', "entry 2 is not a record"),
    ("p.json", "[" * 100_000, "not readable as JSON"),
    ("p.json", '{"label": [' + "9" * 5000 + "]}", "not readable as JSON"),
    ("p.jsonl", '{"label": 0}\n{', "line 2: not readable as JSON"),
    ("p.jsonl", '{"label": [1]}\n{"label": 2}', "'label': holds values of several types"),
    ("p.jsonl", f'{{"label": {NESTED}, "prediction": 0, "probability": 1}}', "is of type list<"),
    ("p.jsonl", '{"label": 0}\n{"prediction": 1}', "'label': row 1 is empty"),
    ("p.jsonl", '{"label": 1, "scores": [{"label": "a"}]}', "'label' may be the true class"),
    ("p.parquet", FINE | {"probability": [0.5, None, 0.1]}, "'probability': row 1 is empty or NaN"),
    ("p.parquet", FINE | {"prediction": [True] * 3}, "'prediction': has dtype bool"),
    ("p.npz", {"labels": [0]}, "prediction, probability missing; found labels (int64). Give the "),
    ("p.npz", {"logits": ONE["logits"]}, "label missing; found logits (float64 1×2). The true cla"),
    ("p.npz", ONE | {"probabilities": [[1.0, 0.0]]}, "one of 'logits'"),
    ("p.npz", ONE | {"logits": [0.0, 1.0]}, "has shape (2,)"),
    ("p.npz", ONE | {"logits": [[0, 1]]}, "dtype int64"),
    ("p.npz", {"labels": [0, 1], "logits": [[0.0, 1.0], [np.nan, 0.0]]}, "row 1 holds empty"),
    ("p.npz", ONE | {"labels": [2]}, "2 is too large; the maximum is 1"),
    ("p.npz", {"labels": [0], "probabilities": [[-1.0, 2.0]]}, "distribution (sum 1, range -1 to"),
    ("p.npz", {"labels": [0], "probabilities": [[3.0, -1.2]]}, "name the array 'logits'"),
    ("p.npz", ONE | {"logits": np.zeros((1, 32769))}, "32769 columns; the maximum is"),
    ("p.npz", {"labels": np.empty(0, int), "logits": np.empty((0, 3))}, "no datapoints"),
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
        for kept in (0, 10, 50, -5, -60):
            path.write_bytes(whole[:kept])
            with pytest.raises(InputError, match=f"{name}: not a readable|{name}: .*a damaged"):
                read_predictions(path)

    @pytest.mark.parametrize(
        ("old", "new"), [(b"extra", b"e\xe9tra"), (b"ape", b"a\xe9e"), (b"PAR1", b"PAR2")]
    )
    def test_bytes_that_are_no_text_and_other_damage(self, tmp_path, old, new):
        columns = FINE | {"label": ["ape", "bee", "cow"], "extra": [1, 2, 3]}
        path = written(tmp_path / "p.parquet", columns)
        path.write_bytes(path.read_bytes().replace(old, new))
        with pytest.raises(InputError, match=r"p\.parquet: (not a readable|a damaged) Parquet"):
            read_predictions(path)

    @pytest.mark.parametrize(
        ("changes", "n_classes", "message"),
        [
            ({"label": [1]}, None, "unequal lengths"),
            ({"label": np.zeros((3, 1), int)}, None, "2 dimensions"),
            ({"probability": np.zeros((3, 1))}, None, "2 dimensions"),
            ({"label": [35000] * 3}, 40000, "40000 classes"),  # int16 never wraps
            ({}, 2, "'label': row 1: 2 is too large; the maximum is 1"),
            ({}, "2", "row 1: 2 is too large; the maximum is 1"),
            *(({}, n, f"'n_classes': {n} classes. Give a number from 1 to")
              for n in ("0", "ten", "40000", "-3")),
        ],
    )  # fmt: skip
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
        for shape in ((2, 2), (2, 1, 2)):
            expected = np.reshape([[0.25, 0.75], [0.5, 0.5]], shape)
            np.testing.assert_allclose(softmax(logits.reshape(shape)), expected, rtol=1e-6)
        prediction, probability = most_probable(logits, logits=True)
        assert prediction.tolist() == [1, 0]
        assert (prediction.dtype, probability.dtype) == (np.int16, np.float32)

    def test_half_precision_logits_are_summed_in_float64(self):
        logits = np.zeros((1, 3000), np.float16)
        assert softmax(logits).sum() == pytest.approx(1, rel=1e-12)

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

    @given(hnp.arrays(np.float64, (3, 5), elements=st.floats(-1e300, 1e300, allow_subnormal=False)))
    def test_any_finite_logits(self, logits):
        prediction, probability = most_probable(logits, logits=True)
        assert prediction.tolist() == logits.argmax(1).tolist()
        assert ((probability > 0) & (probability <= 1)).all()
