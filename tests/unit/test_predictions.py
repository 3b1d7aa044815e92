"""Prediction files: accepted formats, the result of reading them, and errors for bad input."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import predictions
from matcheval.errors import InputError
from matcheval.predictions.files import read_predictions
from matcheval.predictions.records import PREDICTIONS, check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable, softmax

FINE = {"label": [0, 2, 1], "prediction": [0, 1, 1], "probability": [0.5, 0.75, 1.0]}


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def csv(path, text):
    path.write_text(text)
    return path


class TestReading:
    def test_parquet_csv_and_npz_agree(self, tmp_path):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(50, 4)).astype(np.float32) * 3
        labels = rng.integers(0, 4, 50)
        index = rng.permutation(50)
        np.savez(tmp_path / "a.npz", labels=labels, logits=logits)
        scores = {"labels": labels[index], "probabilities": softmax(logits[index])}
        np.savez(tmp_path / "b.npz", index=index, **scores)
        read = read_predictions(tmp_path / "a.npz")
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

    def test_metadata_survives_and_foreign_metadata_does_not(self, tmp_path):
        foreign = {"pandas": "{}", b"camera": b"\xff\xfe"}
        table = pa.table(FINE).replace_schema_metadata({"model": "m", **foreign})
        pq.write_table(table, tmp_path / "p.parquet")
        found = read_predictions(tmp_path / "p.parquet").metadata
        assert found == {"model": "m", "camera": "\ufffd\ufffd"}

    def test_rows_are_in_index_order(self, tmp_path):
        path = csv(tmp_path / "p.csv", "index,label,prediction,probability\n2,1,1,.3\n0,0,0,.5\n")
        read = read_predictions(path)
        assert read.index.tolist() == [0, 2]
        assert read.label.tolist() == [0, 1]
        assert read.correct.tolist() == [True, True]

    @pytest.mark.parametrize(
        ("text", "predicted", "correct"),
        [
            ("file,label,prediction,probability\nx.png,1,0,.3\n", [0], [False]),
            ("label,prediction,probability\n1.0,2.0,1\n", [2], [False]),  # whole floats
            ("label,prediction,probability\n0,0,1\n0,0,1\n", [0, 0], [True, True]),  # one class
        ],
    )
    def test_unusual_files(self, tmp_path, text, predicted, correct):
        found = read_predictions(csv(tmp_path / "p.csv", text))
        assert (found.prediction.tolist(), found.correct.tolist()) == (predicted, correct)


BAD_CSV = {
    "label,prediction\n0,0\n": "column probability missing; found label, prediction",
    "a,b\n0,0\n": "columns label, prediction, probability missing; found a, b. If they have other",
    "label,prediction,probability\n": "no datapoints",
    "label,prediction,probability\n0,0,nan\n": "'probability': row 0 is empty or NaN",
    "label,prediction,probability\n0,0,inf\n": "row 0: inf is not a finite number",
    "label,prediction,probability\n0,0,.5\n0,0,1.01\n": "row 1: 1.01 is outside [0, 1]",
    "label,prediction,probability\n0,0,-0.1\n0,0,2\n": "-0.1 is outside [0, 1] (and 1 more)",
    "label,prediction,probability\n-1,0,.5\n": "'label': row 0: -1 is negative",
    "label,prediction,probability\n0,40000,.5\n": "40000 is too large; the maximum is 32767",
    "label,prediction,probability\n0.5,0,.5\n": "'label': row 0: 0.5 is not a whole number",
    "label,prediction,probability\ncat,0,.5\n": "'label': has dtype object",
    "label,prediction,probability\n0,0,high\n": "'probability': has dtype object",
    "label,prediction,probability\n0,0,.5\n0,,.5\n": "'prediction': row 1 is empty or NaN",
    "label,label,prediction,probability\n0,0,0,.5\n": "'label': occurs twice",
    "index,label,prediction,probability\n3,0,0,.5\n3,0,0,.5\n": "'index': 3 occurs more than once",
    "index,label,prediction,probability\n-3,0,0,.5\n": "'index': row 0: -3 is negative",
    "label,prediction,probability\n0,0\n": "not a readable CSV file",
    "": "not a readable CSV file",
    "label;prediction;probability\n0;0;.5\n": "Separate the columns by commas",
}


class TestBadInput:
    @pytest.mark.parametrize(("text", "message"), BAD_CSV.items())
    def test_csv(self, tmp_path, text, message):
        path = csv(tmp_path / "bad.csv", text)
        with pytest.raises(InputError) as caught:
            read_predictions(path)
        assert message in str(caught.value)
        assert "bad.csv" in str(caught.value)
        assert "(and 0 more)" not in str(caught.value)

    def test_unknown_suffix(self, tmp_path):
        with pytest.raises(InputError, match=r"'\.txt'.*Use \.parquet, \.csv, \.tsv"):
            read_predictions(csv(tmp_path / "p.txt", ""))

    @pytest.mark.parametrize("keep", [0, 10, 300, -5])
    def test_truncated_parquet(self, tmp_path, keep):
        path = parquet(tmp_path / "p.parquet", **FINE)
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(InputError, match=r"p\.parquet: not a readable Parquet.*delete it"):
            read_predictions(path)

    @pytest.mark.parametrize(
        ("old", "new"), [(b"extra", b"e\xe9tra"), (b"ape", b"a\xe9e"), (b"PAR1", b"PAR2")]
    )
    def test_bytes_that_are_no_text_and_other_damage(self, tmp_path, old, new):
        columns = FINE | {"label": ["ape", "bee", "cow"], "extra": [1, 2, 3]}
        path = parquet(tmp_path / "p.parquet", **columns)
        path.write_bytes(path.read_bytes().replace(old, new))
        with pytest.raises(InputError, match=r"p\.parquet: (not a readable|a damaged) Parquet"):
            read_predictions(path)

    @pytest.mark.parametrize(
        ("columns", "metadata", "n_classes", "message"),
        [
            ({"probability": [0.5, None, 0.1]}, {}, None, "'probability': row 1 is empty or NaN"),
            ({"probability": [0.5, np.nan, 0.1]}, {}, None, "row 1: nan is not a finite number"),
            ({"prediction": [True, False, True]}, {}, None, "'prediction': has dtype bool"),
            ({}, {}, 2, "'label': row 1: 2 is too large; the maximum is 1"),
            ({}, {"n_classes": "2"}, None, "row 1: 2 is too large; the maximum is 1"),
            *(
                ({}, {"n_classes": n}, None, f"'n_classes': {n} classes. Give a number from 1 to")
                for n in ("0", "ten", "40000", "-3")
            ),
        ],
    )
    def test_parquet(self, tmp_path, columns, metadata, n_classes, message):
        table = pa.table(FINE | columns).replace_schema_metadata(metadata)
        pq.write_table(table, tmp_path / "p.parquet")
        with pytest.raises(InputError, match=message):
            read_predictions(tmp_path / "p.parquet", n_classes=n_classes)

    def test_rounding_above_1_becomes_1(self):
        columns = {name: np.array(values) for name, values in FINE.items()}
        read = check_predictions(columns | {"probability": np.array([0.5, 1.0000001, 1.0])})
        assert read.probability.tolist() == [0.5, 1, 1]

    @pytest.mark.parametrize(
        ("changes", "n_classes", "message"),
        [
            ({"label": np.array([1])}, None, "unequal lengths"),
            ({"label": np.zeros((3, 1), int)}, None, "2 dimensions"),
            ({"probability": np.zeros((3, 1))}, None, "2 dimensions"),
            ({"label": np.full(3, 35000)}, 40000, "40000 classes"),  # int16 never wraps
        ],
    )
    def test_arrays(self, changes, n_classes, message):
        columns = {name: np.array(values) for name, values in FINE.items()}
        with pytest.raises(InputError, match=message):
            check_predictions(columns | changes, n_classes=n_classes)


BAD_NPZ = [
    ({"labels": [0]}, "columns prediction, probability missing; found labels. Give 'labels' and"),
    ({"logits": [[0.0, 1.0]]}, "column label missing; found logits. The true classes are needed"),
    ({"labels": [0], "logits": [[0.0]], "probabilities": [[1.0]]}, "one of 'logits'"),
    ({"labels": [0], "logits": [0.0, 1.0]}, "has shape (2,)"),
    ({"labels": [0], "logits": [[0, 1]]}, "dtype int64"),
    ({"labels": [0, 1], "logits": [[0.0, 1.0], [np.nan, 0.0]]}, "row 1 holds NaN"),
    ({"labels": [2], "logits": [[0.0, 1.0]]}, "2 is too large; the maximum is 1"),
    ({"labels": [0], "probabilities": [[0.9, 0.9]]}, "not a probability distribution (sum 1.8"),
    ({"labels": [0], "probabilities": [[-1.0, 2.0]]}, "range -1 to 2"),
    ({"labels": [0], "probabilities": [[3.0, -1.2]]}, "name the array 'logits'"),
    ({"labels": [0], "logits": np.zeros((1, 32769))}, "32769 columns; the maximum is"),
    ({"labels": np.empty(0, int), "logits": np.empty((0, 3))}, "no datapoints"),
]


class TestNpz:
    @pytest.mark.parametrize(("arrays", "message"), BAD_NPZ)
    def test_bad(self, tmp_path, arrays, message):
        np.savez(tmp_path / "p.npz", **{k: np.array(v) for k, v in arrays.items()})
        with pytest.raises(InputError) as caught:
            read_predictions(tmp_path / "p.npz")
        assert message in str(caught.value)
        assert "p.npz" in str(caught.value)

    def test_damaged_or_with_pickled_objects(self, tmp_path):
        path = tmp_path / "p.npz"
        np.savez(path, labels=np.array([object()]), logits=np.ones((1, 2)))
        with pytest.raises(InputError, match=r"p\.npz: 'labels': not a readable"):
            read_predictions(path)
        np.savez(path, labels=np.zeros(100, int), logits=np.ones((100, 3)))
        content = path.read_bytes()
        for kept in (content[:50], content[:-60], b"", b"PK no zip"):
            path.write_bytes(kept)
            with pytest.raises(InputError, match=r"p\.npz"):
                read_predictions(path)


class TestSoftmax:
    def test_by_hand(self):
        logits = np.log(np.array([[1.0, 3.0], [2.0, 2.0]]))
        for shape in ((2, 2), (2, 1, 2)):
            expected = np.reshape([[0.25, 0.75], [0.5, 0.5]], shape)
            np.testing.assert_allclose(softmax(logits.reshape(shape)), expected, rtol=1e-6)
        prediction, probability = most_probable(logits, logits=True)
        assert prediction.tolist() == [1, 0]
        assert prediction.dtype == np.int16
        assert probability.dtype == np.float32

    def test_half_precision_logits_are_summed_in_float32(self):
        logits = np.zeros((1, 3000), np.float16)
        assert softmax(logits).sum() == pytest.approx(1, rel=1e-6)

    @given(hnp.arrays(np.float64, (3, 5), elements=st.floats(-1e300, 1e300, allow_subnormal=False)))
    def test_any_finite_logits(self, logits):
        prediction, probability = most_probable(logits, logits=True)
        assert prediction.tolist() == logits.argmax(1).tolist()
        assert ((probability > 0) & (probability <= 1)).all()


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    write_predictions(predictions([0.5]), path)
    before = path.read_bytes()

    def explode(writer, table):
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "write_table", explode)
    with pytest.raises(KeyboardInterrupt):
        write_predictions(predictions([0.7]), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.parquet"]
