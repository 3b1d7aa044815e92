"""Small prediction sets for tests."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator

import matcheval
from matcheval.cli.main import main
from matcheval.datasets.suites import Pair
from matcheval.predictions.correctness import ACCURACIES
from matcheval.predictions.records import Predictions, check_predictions
from matcheval.protocol.compared_models import MatchedModel, mean_of_defined, std_of_defined
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import MatchingMethod

RESULTS = json.loads((Path(matcheval.__file__).parent / "results.schema.json").read_text())


def told_json(text):
    """What a command printed with `--json`, which is as the schema in the package says."""
    found = json.loads(text)
    name = found["schema"].split("/")[1]
    Draft202012Validator(RESULTS["$defs"][name] | {"$defs": RESULTS["$defs"]}).validate(found)
    return found


def printed(capsys, *arguments, code=None):
    """What a command prints with `--json`, and that it ends with a code, if one is given."""
    command = [*map(str, arguments), "--json"]
    if code is None:
        main(command)
    else:
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == code
    return told_json(capsys.readouterr().out)


def error_of(capsys, code, *arguments):
    """What a command that ends with a code says on standard error."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    assert ended.value.code == code
    return capsys.readouterr().err


def run_python(*arguments, cwd=None, **variables):
    """Run Python with this library: what it printed, and its exit code."""
    environment = os.environ | {"PYTHONPATH": str(Path(matcheval.__file__).parents[1])} | variables
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip


def written(path, content):
    """A file that holds text, bytes, or columns in the format of its suffix."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in content.items()})
    else:
        pq.write_table(pa.table(content), path)
    return path


def predictions(probability, prediction=None, label=None, **further) -> Predictions:
    """A prediction set; predictions default to class 0 and labels to the predictions."""
    probability = np.asarray(probability, dtype=np.float64)
    prediction = np.zeros(len(probability), int) if prediction is None else np.asarray(prediction)
    label = prediction if label is None else np.asarray(label)
    return check_predictions(
        {"label": label, "prediction": prediction, "probability": probability, **further}
    )


def simulate(n, n_classes, seed, *, accuracy=0.9, label=None) -> Predictions:
    """Predictions as of a confident classifier: many probabilities near, and at, 1."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_classes, n) if label is None else label
    wrong = rng.random(n) > accuracy
    prediction = np.where(wrong, rng.integers(0, n_classes, n), label)
    logit = rng.normal(np.where(wrong, 1.0, 4.0), 2.5)
    probability = 1 / n_classes + (1 - 1 / n_classes) / (1 + np.exp(-logit))
    probability = np.where(rng.random(n) < 0.2, 1.0, probability)
    return predictions(probability, prediction, label)


def matched(source, target, criterion="label_probability", seeds=range(10), **options):
    """A source and a target, matched; names of model and pair are those of `match`'s tests."""
    comparison = Comparison("m", Pair("p", "s", "t", source="s"), source, target)
    return MatchedModel.of(comparison, MatchingMethod(criterion=criterion, **options), seeds)


def matched_gap(comparison, method, seeds):
    """Mean and standard deviation of the matched gap over seeds, and the share that is matched."""
    one = MatchedModel.of(comparison, method, seeds)
    gaps, share = one.matched_gaps, 1 - one.fractions_unmatched.mean()
    return SimpleNamespace(
        mean=mean_of_defined(gaps), std=std_of_defined(gaps), share_matched=share
    )


def accuracies(counts, n, top=1):
    """Accuracies of models by their correct predictions of n, or by their fractions if n is 0."""
    return ACCURACIES.table({
        "model": list(counts), "dataset": ["set"] * len(counts), "top": [top] * len(counts),
        "n_correct": [c if n else -1 for c in counts.values()], "n": [n] * len(counts),
        "accuracy": [c / n if n else c for c in counts.values()],
    })  # fmt: skip
