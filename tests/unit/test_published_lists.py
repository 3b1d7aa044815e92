"""Lists of published prediction files, and published logits on CIFAR-10 and CIFAR-10.1."""

import numpy as np
import pytest

from image_sets import SHARED
from matcheval.downloads.sources import listed_files
from matcheval.errors import InputError
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout

DATA = SHARED / "data" / "cifar10_1"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no published logits in {DATA}")
LABELS = {"cifar10": "cifar10_test_set_original_labels", "cifar10.1-v6": "cifar10.1_v6_labels"}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["a b,old,x.npz,1,{a}"], "line 2: 'model': 'a b' is not valid"),
        (["a,old,x.npz,1,{a}", "a,old,y.npz,1,{b}"], "line 3: a on old is listed twice"),
        (["a,old,x.npz,1,{a}", "b,old,y.npz,1,{a}"], "b on old is the same file as a on old"),
    ],
)
def test_what_is_wrong_in_a_list_is_told(tmp_path, rows, told):
    digests = {"a": "a" * 64, "b": "b" * 64}
    lines = ["model,dataset,path,bytes,sha256", *(row.format(**digests) for row in rows)]
    (tmp_path / "list.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=told):
        listed_files(str(tmp_path / "list.csv"), "old", "https://example.org/at/")


def test_a_stated_accuracy_is_compared(tmp_path):
    logits, labels = np.eye(4)[[0, 1, 2, 3, 3, 3]], [0, 1, 2, 3, 0, 0]

    def read(**stated):
        np.savez(tmp_path / "a.npz", logits=logits, labels=labels, **stated)
        return read_predictions(tmp_path / "a.npz")

    for stated in ({"acc": 4 / 6}, {"accuracy": np.float32(66.67)}, {"acc": [0.67]}, {"loss": 1.0}):
        assert read(**stated).correct.mean() == pytest.approx(4 / 6)
    for stated, told in ((0.66, "0.66, but 0.6666667 of"), (66.6, "66.6, but 66.66")):
        with pytest.raises(InputError, match=f"states an accuracy of {told}"):
            read(test_acc=stated)


@needs_data
@pytest.mark.parametrize(
    "file", sorted((DATA / "as_published/model_results").glob("*/*.npz")), ids=str
)
def test_published_files_are_read_as_they_are(file):
    """Accuracies by the true classes are those that the files state."""
    dataset = "cifar10.1-v6" if "CIFAR101" in file.name else "cifar10"
    labels = DATA / "as_published" / "labels" / f"{LABELS[dataset]}.npy"
    layout = Layout(columns={"logits": "preds"}, labels_file=str(labels))
    found = read_predictions(file, layout=layout)
    with np.load(file) as published:
        assert found.correct.mean() == published["acc"]
        assert np.array_equal(found.prediction, published["labels"])
        assert np.allclose(found.probability, published["probs"].max(axis=1), atol=1e-6)
