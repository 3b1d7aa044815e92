"""Models whose files have other orders, other rows or one pattern: aligned, told, named well."""

import numpy as np
import pandas as pd
import pytest

import matcheval as me
from matcheval.cli.main import main
from matcheval.predictions.files import read_predictions
from matcheval.predictions.formats import set_names
from matcheval.predictions.layout import Layout

N = 60


def table(seed, n=N):
    rng = np.random.default_rng(seed)
    labels = np.random.default_rng(n).integers(0, 3, n)
    guesses = np.where(rng.random(n) < 0.7, labels, (labels + 1) % 3)
    names = [f"{n}/{i:03d}.png" for i in range(n)]
    columns = {"file_name": names, "target": labels, "pred": guesses}
    return pd.DataFrame(columns | {"conf": rng.uniform(0.4, 1, n).round(3)})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two models on two sets; the second model's rows are in another order."""
    monkeypatch.chdir(tmp_path)
    for origin, n in (("old", N), ("new", N - 20)):
        table(1, n).to_csv(f"{origin}_a.csv", index=False)
        table(2, n).sample(frac=1, random_state=0).to_csv(f"{origin}_b.csv", index=False)
    return tmp_path


def test_rows_in_another_order_give_the_numbers_of_rows_in_order(folder):
    shuffled = me.compare("old_{model}.csv", "new_{model}.csv", seeds=3)
    for origin, n in (("old", N), ("new", N - 20)):
        table(2, n).to_csv(f"{origin}_b.csv", index=False)
    ordered = me.compare("old_{model}.csv", "new_{model}.csv", seeds=3)
    pd.testing.assert_frame_equal(
        shuffled.to_pandas("models", all=True), ordered.to_pandas("models", all=True)
    )
    read = "label = `target`, prediction = `pred`, probability = `conf`, datapoints = `file_name`"
    assert ordered.notes == (f"old: {read}", f"new: {read}")


def test_the_datapoints_that_all_files_have_are_compared(folder):
    pd.read_csv("old_b.csv").iloc[5:].to_csv("old_b.csv", index=False)
    with pytest.warns(me.InputWarning) as told:
        result = me.compare("old_{model}.csv", "new_{model}.csv", seeds=1)
    assert "a on old: 5 of 60 datapoints are left out, which" in str(told[0].message)
    assert "datapoints 55 40" in " ".join(str(result).split())


def test_paired_sets_are_aligned(folder):
    table(3).sample(frac=1, random_state=1).to_csv("other.csv", index=False)
    shuffled = me.compare("old_a.csv", "other.csv", paired=True, seeds=1, analyses="paired_gaps")
    table(3).to_csv("other.csv", index=False)
    ordered = me.compare("old_a.csv", "other.csv", paired=True, seeds=1, analyses="paired_gaps")
    pd.testing.assert_frame_equal(
        shuffled.to_pandas("paired_gaps"), ordered.to_pandas("paired_gaps")
    )


def test_two_models_on_the_same_images_are_noticed(folder, caplog):
    table(2).to_csv("old_b.csv", index=False)
    main(["compare", "old_a.csv", "old_b.csv", "--seeds", "1"])
    assert "`matched-eval compare-models` compares two models" in caplog.text
    with pytest.warns(me.InputWarning, match=r"`me.compare_models` compares two models"):
        me.compare("old_a.csv", "old_b.csv", seeds=1)


def test_names_of_sets():
    assert set_names("out_{model}_big.npz", "out_{model}_small.npz") == ("out_big", "out_small")
    assert set_names("old/{model}.csv", "new/{model}.csv.gz") == ("old", "new")
    assert set_names("runs/{model}/val.csv", "runs/{model}/test.csv") == ("val", "test")
    assert set_names("{model}.csv", "{model}.npz") is None


def test_labels_beside_are_for_files_that_need_them(folder):
    """Targets of a prediction of accuracy have none, whatever lies beside them."""
    scores = np.eye(3)[[0, 1, 2, 1]] * 0.5 + 1 / 6
    for name in ("photos", "sketches"):
        np.save(f"{name}_probs.npy", scores)
    np.savez("base.npz", labels=[0, 1, 2, 0], probs=scores)
    np.save("labels.npy", [0, 1])
    found = me.predict_accuracy("base.npz", "photos_probs.npy", methods="ac", resamples=0)
    assert np.isnan(found.predictions[0].accuracy)
    with pytest.raises(me.InputError, match=r"labels\.npy: has 2 rows, photos_probs\.npy has 4"):
        me.predict_accuracy("photos_probs.npy", "sketches_probs.npy")
    np.save("targets.npy", [0, 1])
    with pytest.raises(me.InputError, match=r"beside it are labels\.npy, targets\.npy"):
        me.predict_accuracy("photos_probs.npy", "sketches_probs.npy")


@pytest.mark.parametrize("wildcard", ["t*", "*"])
def test_a_wildcard_takes_scores_only(tmp_path, wildcard):
    scores = np.eye(3)[[0, 2, 1, 1]] * 0.5 + 1 / 6
    columns = {f"t_{k}": scores[:, k] for k in range(3)}
    frame = pd.DataFrame(columns | {"target": [0, 2, 1, 0], "text": list("abcd")})
    if wildcard == "*":
        frame = frame.rename(columns=lambda name: name.removeprefix("t_"))
    frame.to_csv(tmp_path / "p.csv", index=False)
    given = {"probabilities": wildcard}
    found = read_predictions(tmp_path / "p.csv", layout=Layout(given))
    assert found.label.tolist() == [0, 2, 1, 0]
    assert found.prediction.tolist() == [0, 2, 1, 1]
    assert found.metadata["n_classes"] == "3"
