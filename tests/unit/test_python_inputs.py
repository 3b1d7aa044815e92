"""Input that the functions of `import matcheval` refuse, and what they say of it.

Values are checked as those of files are: test_predictions.py and test_model_outputs.py.
"""

import re

import numpy as np
import pandas as pd
import pytest

import matcheval as me

GOOD = {"labels": [0, 1, 2], "prediction": [0, 1, 1], "probability": [0.9, 0.8, 0.7]}
LOGITS = {"labels": [0, 1], "logits": [[1.0, 2.0], [0.5, -1.0]]}
BAD = [
    (GOOD | {"labels": None}, "'labels': is a single value, not an array"),
    (GOOD | {"labels": ["0", 1, None]}, "'label': row 2 is empty or NaN"),
    (GOOD | {"labels": [[0, 1], [2]]}, "'labels': list is not an array"),
    (GOOD | {"logits": (np.eye(2), np.eye(3))}, "Give one array of the 2: logits[0], if scores"),
    (GOOD | {"probability": np.ma.masked_less([0.9, 0.1, 0.7], 0.5)}, "1 values are masked"),
    (np.zeros((3, 2)), "original: ndarray is neither a file nor a table nor arrays"),
    (pd.DataFrame(GOOD).set_axis(["label", "label", "probability"], axis=1), "label"),
    (pd.DataFrame({"label": [object()], "prediction": [0], "probability": [1.0]}), "not a table"),
    (pd.DataFrame(GOOD).assign(label=pd.period_range("2000", periods=3)), "not a table of plain"),
    ({"a": [0], "table": pd.DataFrame(GOOD)}, "a mapping holds tables or files, and arrays"),
    ({"m": GOOD}, "one set has a model's name with its predictions, the other has none"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_named(given, message):
    other = LOGITS if isinstance(given, dict) and "logits" in given else GOOD
    with pytest.raises(me.InputError, match=re.escape(message)):
        me.compare(given, other)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
def test_arrays_of_other_kinds_are_taken_over(tmp_path):
    """Objects that are all whole numbers, tables as logits, open archives, half precision."""
    logits = np.array(LOGITS["logits"])
    np.savez(tmp_path / "c.npz", labels=[0, 1], logits=logits)
    for given in (
        {"labels": np.array([0, 1], object), "logits": logits.astype(np.float16)},
        {"labels": pd.Series([0, 1]), "logits": pd.DataFrame(logits)},
        np.load(tmp_path / "c.npz"),
    ):
        result = me.match(given, LOGITS, seeds=1, epsilon=0.01)
        assert result.matched_accuracy_source == 0
        assert result.fraction_unmatched == 0
    np.savez(tmp_path / "c.npz", labels=np.array([0, None]), logits=logits)
    with pytest.raises(me.InputError, match=r"original: .labels.: .*Object arrays cannot be"):
        me.match(np.load(tmp_path / "c.npz"), LOGITS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "small"}, "epsilon is 'small'"),
        ({"criteria": "both"}, "unknown criterion 'both'"),
        ({"analyses": "x"}, "unknown analysis 'x'. Known: mcnemar"),
        ({"analyses": ["mcnemar", "difficulty"]}, "'difficulty' needs a study"),
        ({"analyses": "paired_gaps"}, "not declared as paired"),
        ({"criteria": []}, "no criterion"),
        ({"source": "target"}, "source is 'target'"),
        ({"pair": "a/b"}, "pair 'a/b' is not a valid name"),
        ({"names": ("x", "x")}, "names is ('x', 'x')"),
        ({"classes": "cifar"}, "classes is 'cifar'"),
        ({"classes": 2}, "'label': row 2: 2 is too large; the maximum is 1"),
        ({"first_label": 2}, "first_label is 2"),
        ({"columns": {"lable": "y"}}, "there is no column 'lable'"),
        ({"paired": True, "groups_shared": True}, "groups are shared, but not known"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(me.InputError, match=re.escape(message)):
        me.compare(GOOD, GOOD, **options)


def test_a_large_epsilon_is_warned_of():
    with pytest.warns(me.InputWarning, match="epsilon 0.06 matches datapoints whose .* 6 points"):
        me.match(GOOD, GOOD, epsilon=0.06, seeds=1)


@pytest.mark.filterwarnings("ignore::matcheval.InputWarning")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: me.compare({"a": GOOD}, {"b": GOOD}), "2 models with predictions on one set only"),
        (lambda: me.compare({"a": GOOD, "b": LOGITS}, {"a": GOOD, "b": LOGITS}), "other indices"),
        (lambda: me.predict_accuracy(GOOD, GOOD, resamples=-1), "resamples is -1"),
        (lambda: me.predict_accuracy(GOOD, GOOD, methods="acc"), "unknown method 'acc'"),
        (lambda: me.compare(GOOD, GOOD).plot("gap"), "unknown kind of figure 'gap'"),
        (lambda: me.compare(GOOD, GOOD).plot(criterion="x"), "unknown criterion 'x'"),
        (lambda: me.compare(GOOD, GOOD).to_pandas("means"), "unknown table 'means'"),
        (lambda: me.replication_table({"m": GOOD}, {"m": GOOD}, top=2), "fewer than top=2"),
        (lambda: me.predict_accuracy(GOOD, GOOD, calibration=[GOOD]), "1 sets to calibrate on"),
        (lambda: me.predict_accuracy(LOGITS | {"features": np.zeros((3, 2))}, LOGITS),
         "base: 'features': has shape (3, 2)"),
        (lambda: me.predict_accuracy(LOGITS, {"labels": [0], "logits": [[0.1, 0.2, 0.3]]}),
         "classes"),
        (lambda: me.replication_table(*[{"a\n": GOOD}] * 2), "name of the model, 'a\\n', is not"),
        (lambda: me.replication_table(GOOD, GOOD, confidence=1), "confidence is 1"),
        (lambda: me.replication_table({"model": ["a"], "accuracy": [1.5]}, GOOD),
         "one set has accuracies, the other predictions"),
        (lambda: me.replication_table(*[{"model": ["a"], "accuracy": [93.5]}] * 2),
         "original, model 'a': 'accuracy': '93.5' is not in 0..1"),
        (lambda: me.replication_table(*[{"model": ["a", "a"], "accuracy": [0.5, 0.6]}] * 2),
         "model 'a' occurs twice"),
    ],
)  # fmt: skip
def test_bad_calls_are_named(call, message):
    with pytest.raises(me.InputError, match=re.escape(message)):
        call()
