"""Small files with faults that people meet, beside those that a folder of cases has.

Each is a variation of two good files: what is wrong must be refused or warned of, by its cause, and
what is right must keep its number.
"""

import os
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from warm import warm_python

import matcheval as me
from matcheval.errors import InputError

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MATCHEVAL_SHARED", ROOT.parent / "shared"))
NAMES = ["black bear", "café", "ice-cream", "sea lion", "tram"]
K = len(NAMES)


def frame(n, strength, seed):
    """Labels, predictions and confidences of a classifier of five classes, with file names."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, K, n)
    logits = rng.normal(size=(n, K))
    logits[np.arange(n), label] += strength
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    table = pd.DataFrame({"label": label, "prediction": p.argmax(1), "probability": p.max(1)})
    return table.round(5), p


(OLD, P_OLD), (NEW, P_NEW) = frame(300, 2.6, 1), frame(240, 1.9, 2)
GAP = (OLD.label == OLD.prediction).mean() - (NEW.label == NEW.prediction).mean()


def compared(old=OLD, new=NEW, **options):
    """The gap, and the warnings but those about results."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = me.compare(old, new, seeds=1, criteria="probability", **options)
    texts = [str(one.message) for one in told if issubclass(one.category, me.InputWarning)]
    texts = [text for text in texts if "unmatched" not in text]
    return found.gaps["probability"].gap.value, texts


def named(table, spell=lambda name: name, columns=("label", "prediction")):
    """A table with names of classes, spelt in a way in some columns."""
    table = table.copy()
    for column in ("label", "prediction"):
        change = spell if column in columns else str
        table[column] = [change(NAMES[k]) for k in table[column]]
    return table


SPELLINGS = {
    "no-break space": lambda name: name.replace(" ", "\u00a0"),
    "doubled space": lambda name: name.replace(" ", "  "),
    "zero-width space": lambda name: f"{name}\u200b",
    "byte order mark": lambda name: f"\ufeff{name}",
    "title case": str.title,
    "hyphens": lambda name: name.replace(" ", "-"),
    "decomposed accents": lambda name: unicodedata.normalize("NFD", name),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("columns", [("label",), ("prediction",), ("label", "prediction")])
def test_a_class_is_one_however_it_is_spelt(spell, columns):
    gap, _ = compared(named(OLD), named(NEW, spell, columns))
    assert gap == pytest.approx(GAP, abs=1e-12)


def with_labels(rows, change):
    """Names of classes, of which the labels in some rows are others."""
    table = named(OLD)
    table.loc[rows, "label"] = [change(name) for name in table.loc[rows, "label"]]
    return table


BAD_NAMES = [
    *((lambda _, cell=cell: cell, "10 of 300 cells are empty") for cell in ("", " ", "\u200b")),
    *(
        (lambda _, word=word: word, "is never predicted")
        for word in ("N/A", "none", "NULL", "missing")
    ),
    (str.upper, "may be one class or two"),
]


@pytest.mark.parametrize(("change", "message"), BAD_NAMES)
def test_truths_that_may_be_none_or_two_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        compared(with_labels(slice(9), change), named(NEW))


def test_classes_that_do_not_occur_change_nothing():
    more = [f"{name} x" for name in NAMES]
    assert compared(named(OLD), named(NEW), classes=[*NAMES, *more])[0] == pytest.approx(GAP)


def of_logits(table, p, **changed):
    return {"labels": table.label.to_numpy(), "probabilities": p} | changed


SUSPICIOUS = {
    "ranked scores": ("sorted by size", of_logits(OLD, -np.sort(-P_OLD, axis=1)), NEW),
    "divided confidence": ("below 0.2", OLD.assign(probability=OLD.probability / 6), NEW),
    "probability of the true class": (
        "true class", OLD.assign(probability=P_OLD[np.arange(300), OLD.label].round(5)), NEW,
    ),
    "several folds": ("column `fold` has 3 values", OLD.assign(fold=np.arange(300) % 3), NEW),
    "two checkpoints": (
        "column `checkpoint` has 2", OLD, NEW.assign(checkpoint=["last", "best"] * 120),
    ),
    "constant": ("all predictions are class 2", OLD.assign(prediction=2), NEW),
    "shuffled": ("no better than chance", OLD.assign(label=OLD.label.to_numpy()[::-1]), NEW),
    "reversed classes": ("numbered in another order", OLD.assign(label=K - 1 - OLD.label), NEW),
    "two classes are swapped in both": (
        "in another order", OLD.assign(label=np.array([1, 2, 0, 4, 3])[OLD.label]), NEW,
    ),
    "without two classes": ("no images of 2 of the 5 classes", OLD, NEW[NEW.label < 3]),
    "counted from 1 in one set": (
        "counted from 1 in", OLD.assign(label=OLD.label + 1, prediction=OLD.prediction + 1), NEW,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("told", "old", "new"), SUSPICIOUS.values(), ids=SUSPICIOUS)
def test_what_looks_wrong_is_told(told, old, new):
    assert any(told in text for text in compared(old, new)[1])


def test_nothing_is_told_of_good_files():
    assert compared() == (pytest.approx(GAP), [])
    assert compared(of_logits(OLD, P_OLD), of_logits(NEW, P_NEW))[1] == []


REFUSED = {
    "transposed": ("[Tt]ranspose", {"labels": OLD.label.to_numpy(), "logits": np.log(P_OLD).T}),
    "soft labels": ("soft labels", of_logits(OLD, P_OLD, labels=P_OLD)),
    "ids of classes": ("ids of classes", OLD.assign(label=OLD.label * 100_000)),
    "minus one": ("leave them out", OLD.assign(label=OLD.label - 1)),
}


@pytest.mark.parametrize(("told", "old"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused(told, old):
    with pytest.raises(InputError, match=told):
        compared(old)


def test_labels_that_are_predictions_can_be_said_to_be_true():
    perfect = [table.assign(label=table.prediction) for table in (OLD, NEW)]
    with pytest.raises(InputError, match="look like predictions"):
        compared(*perfect)
    assert compared(*perfect, labels_are_true=True)[0] == 0
    few = [table.head(40) for table in perfect]
    assert any("look like predictions" in text for text in compared(*few)[1])
    gap, told = compared(perfect[0], NEW)
    assert gap > 0  # of one set, it may be so
    assert any("of 1 of 2 files, labels equal" in text for text in told)


KEYS = {
    "leading zeros": lambda i: f"{i:05d}",
    "a float": float,
    "Windows": lambda i: f"img\\{i}.png",
    "other extension": lambda i: f"{i}.JPEG",
    "a folder more": lambda i: f"/data/val/{i}.png",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_are_joined_by_what_they_share(key):
    other = NEW.assign(prediction=NEW.prediction.to_numpy()[::-1])
    wanted = me.compare_models(NEW, other).difference.value
    first = NEW.assign(image_id=[f"{i}.png" if isinstance(key(1), str) else i for i in range(240)])
    if key(1) == "00001":
        first = NEW.assign(image_id=range(240))
    second = other.assign(image_id=[key(i) for i in range(240)]).sample(frac=1, random_state=0)
    found = me.compare_models(first, second.reset_index(drop=True))
    assert found.difference.value == wanted
    assert not any("paired by their order" in text for text in found.notes)
    assert any("paired by their order" in t for t in me.compare_models(NEW, other).notes)


def test_repeated_rows_count_once_if_they_are_equal():
    good = OLD.assign(file=[f"{i}.png" for i in range(300)])
    padded = pd.concat([good, good.head(7)], ignore_index=True)
    gap, told = compared(padded, NEW)
    assert gap == pytest.approx(GAP)
    assert told == ["original: 7 rows repeat another's `file`, and count once"]
    padded.loc[302, "probability"] = 0.5
    with pytest.raises(InputError, match=r"'2\.png' occurs more than once"):
        compared(padded, NEW)


FINE = {
    "a name of the class": OLD.assign(name=[NAMES[k] for k in OLD.label]),
    "frames of videos": OLD.assign(file=[f"v{i // 30}.mp4" for i in range(300)]),
    "numbers that begin anew": OLD.assign(image=[f"{i % 100:04d}.png" for i in range(300)]),
    "names that are empty": OLD.assign(file=["" if i % 9 else f"{i}.png" for i in range(300)]),
}


@pytest.mark.parametrize("old", FINE.values(), ids=FINE)
def test_what_repeats_is_not_always_a_name_of_datapoints(old):
    assert compared(old) == (pytest.approx(GAP), [])


def test_rare_classes_and_unequal_ones_are_no_other_order():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 1000, 300)
    guess = np.where(rng.random(300) < 0.6, label, rng.integers(0, 1000, 300))
    many = pd.DataFrame({"label": label, "prediction": guess, "probability": 0.7})
    rare = np.repeat([1, 0], [5, 95])
    few = pd.DataFrame({"label": rare, "prediction": np.roll(rare, 1), "probability": 0.9})
    for table in (many, few):
        texts = [text for text in compared(table, table.iloc[::-1])[1] if "same" not in text]
        assert texts == []


def test_a_comment_is_no_name_of_datapoints():
    tables = [NEW.assign(comment=[f"{who} said {i}" for i in range(240)]) for who in ("a", "b")]
    tables[1]["prediction"] = tables[1]["prediction"].to_numpy()[::-1]
    found = me.compare_models(*tables)
    assert found.difference.value == me.compare_models(NEW, tables[1][NEW.columns]).difference.value


def test_the_header_may_be_a_comment(tmp_path):
    for first in ("# label,prediction,probability", "# run 3\n# label,prediction,probability"):
        rows = "".join(f"{NAMES[k]},{NAMES[g]},{p}\n" for k, g, p in OLD.itertuples(index=False))
        (tmp_path / "old.csv").write_text(f"{first}\n{rows}")
        assert compared(tmp_path / "old.csv", named(NEW))[0] == pytest.approx(GAP)


def test_a_file_that_is_joined_twice_is_told():
    twice = pd.concat([OLD, OLD])
    assert any("every row is there 2 times" in text for text in compared(twice)[1])
    numbers = np.arange(300)
    assert compared(twice.assign(group=[*numbers, *numbers]))[1] == []


def test_na_and_none_are_classes_in_excel(tmp_path):
    pytest.importorskip("openpyxl")
    words = np.array(["NA", "None", "yes", "null", "N/A"])
    files = []
    for name, table in {"old": OLD, "new": NEW}.items():
        table = table.assign(label=words[table.label], prediction=words[table.prediction])
        files.append(tmp_path / f"{name}.xlsx")
        table.to_excel(files[-1], index=False)
    assert compared(*files) == (pytest.approx(GAP), [])


def test_it_is_said_that_folders_are_left_out(tmp_path):
    files = []
    for version, step in (("v1", 1), ("v2", -1)):
        names = [f"{version}/{row}.png" for row in range(len(OLD))]
        files.append(tmp_path / f"{version}.csv")
        OLD.assign(file=names)[::step].to_csv(files[-1], index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = me.compare_models(*files), me.compare(*files, paired=True, seeds=1)
    for result in results:
        assert "v2: datapoints are joined by their names without folders" in result.notes


def test_spellings_without_a_hyphen_are_refused():
    sets = [named(table, lambda name: name.replace("-", ""), ["label"]) for table in (OLD, NEW)]
    with pytest.raises(InputError, match="'icecream' is a label only, and 'ice-cream' a predicti"):
        compared(*sets)


@pytest.mark.skipif(not (SHARED / "tools/cases.py").exists(), reason=f"no cases in {SHARED}")
@pytest.mark.slow
def test_the_folder_of_cases(tmp_path):
    """In the Python that starts quickly, as there are many cases."""
    (tmp_path / "python").symlink_to(warm_python())
    program = tmp_path / "matched-eval"
    installed = Path(sys.executable).with_name("matched-eval")
    program.write_text(f'#!/bin/sh\nexec "{warm_python()}" "{installed}" "$@"\n')
    program.chmod(0o700)
    command = [sys.executable, SHARED / "tools/cases.py", "--bin", program]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
