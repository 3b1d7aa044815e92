"""Files that other tools wrote (tests/foreign/README.md): read without an option, or refused.

MATCHEVAL_EXAMPLES=5000 mutates them 5,000 times.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from damage import damaged
from matcheval.errors import InputError
from matcheval.predictions.column_names import SYNONYMS, standard_name
from matcheval.predictions.datapoints import Alignment
from matcheval.predictions.files import read_predictions, with_shared_classes
from matcheval.predictions.layout import Layout

FILES = Path(__file__).parents[1] / "foreign" / "files"
MEANT = dict(np.load(FILES / "meant.npz"))
COMMAND = Layout(caller="command")

# What is said of some files that are read: which columns were taken for what.
NOTES = {
    "pandas_index.csv": "label = `y_true`, prediction = `y_pred`, probability = `confidence`",
    "excel_german.csv": "semicolons between columns, Latin-1, decimal commas",
    "numpy_two/val_logits.npy": "label = `val_labels.npy`",
    "sklearn_binary.csv": "prediction = `y_pred`, probability of class 1 = `y_prob`",
    "timm/top1.csv": "label = `labels.csv`, by `filename`, prediction = `label`",
}  # fmt: skip
EITHER = "If it is the prediction, .* --columns prediction=label label=TRUTH, .* as labels.csv"
ORDER = "which class has which number is not known: .* in order of their labels: --classes FILE"
# What a refused file is told, and the options that mend it, if there are any.
REFUSED = {
    "timm_alone.csv": (f"found filename .text., label .text., prob .float64.. {EITHER}", None),
    "pipeline_alone.json": (EITHER, None),
    "classes_only.csv": ("found label .int64., prediction .int64.. Matching needs prob", None),
    "percent.csv": ("These look like percentages: divide them by 100", None),
    "numpy_savetxt.csv": ("its first line is '2.0.*Write the names of the columns above it", None),
    "numpy_positional.npz": (
        r"found arr_0 \(float64 12×3\), arr_1 .*--columns label=NAME prediction=NAME",
        {"columns": {"label": "arr_1", "logits": "arr_0"}},
    ),
    "from_1.csv": ("'p_0' is missing.*say so: --first-label 1", {"first_label": 1}),
    "tuple.pt": ("batches of the same tensors .*torch.cat", None),
    "module.pt": ("Save whole tensors", None),
    "relu.npz": (
        "'outputs': holds no negative scores, .*--columns logits=outputs",
        {"columns": {"logits": "outputs"}},
    ),
    "labels_from_1.npz": ("say so: --first-label 1", {"first_label": 1}),
    "numpy_sklearn.npz": (ORDER, {"classes": ("cat", "dog", "owl")}),
    "order_unknown.csv": (ORDER, {"classes": ("cat", "dog", "owl")}),
    "timm/all_named.json": (ORDER, {"classes": ("cat", "dog", "owl")}),
    "names_and_numbers.csv": (ORDER, {"classes": ("cat", "dog", "owl")}),
    "wide_and_more.csv": (
        "found cat .float64., .* named by the classes, if these are given: --classes FILE",
        {"classes": ("cat", "dog", "owl")},
    ),
    "two_truths.csv": (
        "'target' and 'y_true' may both be the label; .*--columns label=y_true",
        {"columns": {"label": "y_true"}},
    ),
    "binary_score.csv": (
        "is below 0.5 exactly where class 0 .*--columns probabilities=score",
        {"columns": {"probabilities": "score"}},
    ),
}
BESIDE = {"meant.npz", "timm/labels.csv", "numpy_two/val_labels.npy", "fastai/targs.pt"}
THERE = {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()}
READ = sorted(THERE - REFUSED.keys() - BESIDE)
NEEDS = {".pt": "torch", ".h5": "h5py", ".xlsx": "openpyxl"}


def read(path, layout=COMMAND):
    layout = layout if layout.classes else with_shared_classes([path], layout)
    return read_predictions(path, layout)


def check(found, name):
    """Check that predictions are those that were meant."""
    label, prediction, probability = MEANT.values()
    if "binary" in name:
        label, prediction = (np.where(one == 2, 1, 0) for one in (label, prediction))
        assert np.array_equal(found.label, label)
        assert (found.probability >= 0.5).all()
        return
    if name == "pandas_shuffled.jsonl":
        order = np.argsort([key[-7:] for key in found.keys])
        assert np.array_equal(found.label[order], label)
        assert np.array_equal(found.prediction[order], prediction)
        return
    assert np.array_equal(found.label, label)
    assert np.array_equal(found.prediction, prediction)
    half = name.startswith(("half", "numpy_half", "numpy_bfloat16"))
    if name != "sklearn.csv":  # of another model
        tolerance = 2e-3 if half else 2e-6
        np.testing.assert_allclose(found.probability, probability, atol=tolerance)


def skip_without_reader(name):
    package = NEEDS.get(Path(name).suffix)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("name", READ)
def test_is_read_without_an_option(name):
    skip_without_reader(name)
    found = read(FILES / name)
    check(found, name)
    assert NOTES.get(name, "") in ", ".join(found.notes)


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_what_mends_it(name):
    skip_without_reader(name)
    message, options = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(FILES / name)
    with pytest.raises(InputError) as caught:
        read(FILES / name, Layout())
    assert "--" not in str(caught.value)  # which is a command's, not Python's
    if options:
        check(read(FILES / name, Layout(**options)), name)


@pytest.mark.parametrize("suffix", NEEDS)
def test_a_reader_that_is_not_installed_is_named(monkeypatch, suffix):
    monkeypatch.setitem(sys.modules, NEEDS[suffix], None)
    name = next(name for name in READ if name.endswith(suffix))
    with pytest.raises(InputError, match=f"needs the package {NEEDS[suffix]}, .*pip install"):
        read(FILES / name)


def test_rows_in_another_order_are_aligned():
    """The shuffled file of pandas, by the images that the file of FiftyOne names."""
    alignment = Alignment()
    alignment.place(read(FILES / "fiftyone.csv"), "first")
    placed = alignment.place(read(FILES / "pandas_shuffled.jsonl"), "second")
    assert placed.index.tolist() == list(range(12))
    assert np.array_equal(placed.label, MEANT["label"])
    assert np.array_equal(placed.prediction, MEANT["prediction"])


def test_names_of_columns_are_those_of_ours():
    names = {"Ground Truth": "label", "label": "label", "probs": "probabilities", "x_y": "x_y"}
    assert {name: standard_name(name) for name in names} == names


PIECES = [
    *(bytes([c]) for c in b',;\t|\n"\x00\xff-.e0159[]{}:'), b"nan", b"null", b"1e999", b"label",
]  # fmt: skip


def renamed(content, random):
    """Text with one word of its header exchanged for another of the same meaning, or of none."""
    head, newline, rest = content.partition(b"\n")
    cells = head.decode("utf-8-sig").split(",")
    at = random.randrange(len(cells))
    name = standard_name(cells[at].strip('" \r'))
    words = ["x", "note", "image", "Index", *SYNONYMS.get(name, ())]
    cells[at] = random.choice(words)
    return ",".join(cells).encode() + newline + rest


READABLE = [n for n in (*READ, *REFUSED) if Path(n).suffix not in (".pt", ".h5", ".xlsx")]
TEXTS = [n for n in READABLE if n.endswith(".csv") and not n.startswith(("excel", "two"))]


@settings(
    max_examples=int(os.environ.get("MATCHEVAL_EXAMPLES", "60")), deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(random=st.randoms(use_true_random=False))
def test_mutations_are_read_or_refused(tmp_path, random):
    """Without a traceback; where just a name was changed, what is read is what the file says."""
    rename = random.random() < 0.4
    name = random.choice(TEXTS if rename else READABLE)
    for beside in FILES.glob(f"{Path(name).parent}/*labels*") if "/" in name else ():
        shutil.copy(beside, tmp_path)
    path, content = tmp_path / Path(name).name, (FILES / name).read_bytes()
    changed = renamed(content, random) if rename else damaged(content, PIECES, random)
    path.write_bytes(changed)
    try:
        found = read(path)
    except InputError as error:
        event("refused" if path.name in str(error) else "refused, beside it")
        return
    finally:
        for one in tmp_path.iterdir():
            one.unlink()
    event("read")
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    if rename or path.suffix in (".npz", ".gz", ".bz2", ".xz"):  # which have checksums
        note(f"{name}: {changed[:60]!r}")
        check(found, name)
