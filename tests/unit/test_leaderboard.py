"""One page over several results: what it says of models, and of what changed."""

import numpy as np
import pytest

import matcheval as me
from helpers import told_json
from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.leaderboard.results import changes, judge, read_folders


def outputs(n, accuracies, seed):
    """Predictions of models "a", "b", ... that are right as often as asked for."""
    rng = np.random.default_rng(seed)
    label, draw = np.arange(n) % 5, rng.random(n)
    return {
        name: {
            "label": label,
            "prediction": np.where(draw < accuracy, label, (label + 1) % 5),
            "probability": rng.uniform(0.5, 1, n),
        }
        for name, accuracy in zip("abc", accuracies, strict=False)
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three results: of two the pair is the same."""
    place, old = tmp_path_factory.mktemp("results"), outputs(3000, (0.9, 0.9, 0.9), 0)
    for name, accuracies, pair in (
        ("march", (0.8, 0.89, 0.95), "photos"), ("april", (0.9, 0.89, 0.95), "photos"),
        ("may", (0.5, 0.5, 0.5), "sketches"),
    ):  # fmt: skip
        new = outputs(2000, accuracies, len(name))
        me.compare(old, new, pair=pair, names=("old", "new"), seeds=2).save(place / name)
    return [place / name for name in ("march", "april", "may")]


def test_models_that_differ_beyond_chance(folders):
    found = judge(read_folders(folders)).set_index(["results", "model"])
    assert len(found) == 9
    of_march = found.loc["march, photos"]
    assert of_march["finding"].tolist() == ["loses", "cannot be told", "gains"]
    assert of_march.loc["a", "gap"] == pytest.approx(0.1, abs=0.03)
    assert set(found.loc["may, sketches"]["finding"]) == {"loses"}


def test_what_changed_between_the_first_and_the_last(folders):
    found = changes(read_folders(folders)).set_index("model")
    assert set(found["pair"]) == {"photos"}
    assert (found["first"] + found["last"]).tolist() == ["marchapril"] * 3
    assert found["strength"].tolist() == ["established", "cannot be told", "cannot be told"]
    accuracies = judge(read_folders(folders)).set_index(["results", "model"])["accuracy"]
    before, after = (accuracies[f"{name}, photos", "a"] for name in ("march", "april"))
    assert found.loc["a", "change"] == pytest.approx(after - before)
    half = 1.96 * np.sqrt(before * (1 - before) / 2000 + after * (1 - after) / 2000)
    assert found.loc["a", "high"] - found.loc["a", "change"] == pytest.approx(half)


def test_the_command_writes_a_page(folders, tmp_path, capsys):
    page = tmp_path / "board.html"
    main(["leaderboard", *map(str, folders), "--file", str(page), "--json"])
    told = told_json(capsys.readouterr().out)
    assert (len(told["models"]), len(told["changes"])) == (9, 3)
    text = page.read_text(encoding="utf-8")
    assert text.index("march, photos") < text.index("april, photos") < text.index("may, sketches")
    assert text.count('class="strength') == 9
    assert "Accuracy on the new set, april minus march" in text
    assert "c is most accurate, over 3 pairs on average" in text


@pytest.mark.parametrize(
    ("names", "message"),
    [(["march", "nowhere"], "is no folder"), (["."], "has no tables of gaps"),
     (["march", "march"], "two folders have the name 'march'")],
)  # fmt: skip
def test_bad_folders(folders, tmp_path, names, message, capsys):
    given = [str(folders[0].parent / name) for name in names]
    with pytest.raises((SystemExit, InputError)):
        main(["leaderboard", *given, "--file", str(tmp_path / "x.html")])
    assert message in capsys.readouterr().err
