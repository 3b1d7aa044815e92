"""Files with the scores of all classes, files without labels, and the files of inference beside."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from matcheval.accuracy_prediction.output_files import check_comparable, read_user_file
from matcheval.errors import InputError
from matcheval.inference.outputs import RunningStatistics, _vector_schema
from matcheval.io.tables import write_table
from matcheval.predictions.files import read_predictions
from matcheval.predictions.records import check_predictions, write_predictions
from matcheval.predictions.softmax import most_probable

N, K = 40, 4
LOGITS = (3 * np.random.default_rng(0).normal(size=(N, K))).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, K, N)
PROBABILITIES = np.exp(LOGITS.astype(float)) / np.exp(LOGITS.astype(float)).sum(1, keepdims=True)


def write(path, columns):
    table = pa.table(columns)
    (pq.write_table if path.suffix == ".parquet" else pa_csv.write_csv)(table, path)
    return path


def per_class(prefix, matrix):
    return {f"{prefix}{k}": matrix[:, k] for k in range(matrix.shape[1])}


FORMS = {  # in which a file can have the scores of all classes
    "npz logits": {"logits": LOGITS},
    "npz": {"probabilities": PROBABILITIES},
    "lists.parquet": {"logits": list(LOGITS)},
    "fixed.parquet": {"logits": pa.FixedSizeListArray.from_arrays(pa.array(LOGITS.ravel()), K)},
    "columns.parquet": per_class("logit_", LOGITS),
    "columns.csv": per_class("p_", PROBABILITIES),
}


def file_of(folder, form, *, labels=True):
    """The same outputs in each of the forms."""
    if form.startswith("npz"):
        np.savez(folder / "m.npz", **FORMS[form], **({"labels": LABELS} if labels else {}))
        return folder / "m.npz"
    return write(folder / form, ({"label": LABELS} if labels else {}) | FORMS[form])


@pytest.mark.parametrize("form", FORMS)
class TestForms:
    def test_all_forms_give_the_same(self, tmp_path, form):
        path = file_of(tmp_path, form)
        found = read_user_file(path).outputs
        np.testing.assert_allclose(found.probabilities, PROBABILITIES, rtol=1e-12)
        np.testing.assert_allclose(found.confidences, PROBABILITIES.max(1), rtol=1e-12)
        assert found.predicted.tolist() == LOGITS.argmax(1).tolist()
        assert found.labels.tolist() == LABELS.tolist()
        assert (found.logits is None) == (form in ("npz", "columns.csv"))
        plain = read_predictions(path)
        assert plain.prediction.tolist() == LOGITS.argmax(1).tolist()
        np.testing.assert_allclose(plain.probability, PROBABILITIES.max(1), rtol=1e-6)
        assert plain.metadata["n_classes"] == str(K)

    def test_without_labels_where_asked_for(self, tmp_path, form):
        path = file_of(tmp_path, form, labels=False)
        assert read_user_file(path, labels="optional").outputs.labels is None
        for read in (read_predictions, read_user_file):
            with pytest.raises(InputError, match=r"true classes are needed here|Give 'labels'"):
                read(path)


class TestRows:
    def test_scores_follow_the_index(self, tmp_path):
        index = np.random.default_rng(2).permutation(N)
        columns = {"index": index, "label": LABELS, "logits": list(LOGITS)}
        found = read_user_file(write(tmp_path / "m.parquet", columns)).outputs
        assert found.index.tolist() == list(range(N))
        np.testing.assert_array_equal(found.logits[index], LOGITS)
        np.testing.assert_array_equal(found.labels[index], LABELS)

    def test_large_logits_do_not_overflow_and_predictions_may_be_alone(self, tmp_path):
        path = write(tmp_path / "m.parquet", {"label": [0], "logits": [[1e4, 1e4 - 1.0]]})
        expected = [[1 / (1 + np.exp(-1)), 1 / (1 + np.e)]]
        np.testing.assert_allclose(read_user_file(path).outputs.probabilities, expected)
        columns = {"prediction": [1, 0], "probability": [0.75, 0.5]}
        found = read_user_file(write(tmp_path / "m.csv", columns), labels="optional").outputs
        assert found.confidences.tolist() == [0.75, 0.5]
        assert (found.probabilities, found.logits, found.labels) == (None, None, None)


ROWS = {"label": [0, 1]}
BOTH = ROWS | {"probability": [0.9, 0.9], "logits": [[9.0, 0]] * 2}
BAD = [
    (ROWS | {"logit_0": [0.5, None], "logit_1": [0.0, 1.0]}, "row 1 holds empty, NaN"),
    (ROWS | {"logits": [[1.0], [1.0, 2.0]]}, "lists of unequal lengths"),
    (BOTH | {"prediction": [0, 1]}, "datapoint 1: the highest score is that of class 0, the pr"),
]


@pytest.mark.parametrize(("columns", "message"), BAD)
def test_bad_scores(tmp_path, columns, message):
    path = write(tmp_path / "bad.parquet", columns)
    with pytest.raises(InputError) as caught:
        read_user_file(path)
    assert message in str(caught.value)
    assert "bad.parquet" in str(caught.value)


class TestFilesOfInference:
    @pytest.fixture
    def path(self, tmp_path):
        """Files as inference writes them, side by side."""
        prediction, probability = most_probable(LOGITS, logits=True)
        columns = {"label": LABELS, "prediction": prediction, "probability": probability}
        write_predictions(check_predictions(columns), tmp_path / "net.v2.parquet")
        self.vectors(tmp_path / "net.v2.logits.parquet", "logits", LOGITS)
        self.vectors(tmp_path / "net.v2.features.parquet", "features", LOGITS[:, :2])
        running = RunningStatistics()
        running.add(LOGITS[:, :2], PROBABILITIES)
        statistics = dataclasses.asdict(running.result())
        np.savez(tmp_path / "net.v2.statistics.npz", **statistics, metadata="{}")
        return tmp_path / "net.v2.parquet"

    def vectors(self, path, name, values, start=0):
        n, width = values.shape
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width)
        columns = {"index": np.arange(start, start + n, dtype=np.int32), name: lists}
        write_table(_vector_schema(name, width).table(columns, {"width": str(width)}), path)

    def test_they_are_found(self, path):
        found = read_user_file(path).outputs
        np.testing.assert_array_equal(found.logits, LOGITS)
        np.testing.assert_array_equal(found.features, LOGITS[:, :2])
        np.testing.assert_allclose(found.confidences, PROBABILITIES.max(1), rtol=1e-12)
        assert found.statistics.n == N
        assert found.accuracy == (LOGITS.argmax(1) == LABELS).mean()

    def test_those_of_other_datapoints_are_left_out_and_named(self, path, caplog):
        self.vectors(path.with_name("net.v2.logits.parquet"), "logits", LOGITS, start=1)
        assert read_user_file(path).outputs.probabilities is None
        assert "net.v2.logits.parquet is not used" in caplog.text

    def test_logits_of_another_model(self, path):
        self.vectors(path.with_name("net.v2.logits.parquet"), "logits", LOGITS[::-1].copy())
        with pytest.raises(InputError, match=r"net\.v2\.logits.*must come from the same model"):
            read_user_file(path)

    def test_files_of_different_models(self, path):
        base = read_user_file(path)
        check_comparable(base, base)
        of_four = dataclasses.replace(base, metadata={"n_classes": "4"})
        of_seven = dataclasses.replace(base, metadata={"n_classes": "7", "model": "m"})
        with pytest.raises(InputError, match=r"of classes is 4 in net\.v2\.parquet, and 7 in"):
            check_comparable(of_four, of_seven)
