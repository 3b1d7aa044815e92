"""Label audits: each format by hand, gaps by loops, intervals by simulation, real ReaL labels."""

import hashlib
import json
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from compared import compared, models, swapped
from helpers import predictions, simulate
from matcheval.analyses.label_audits import PUBLISHED, SCHEMA, plot, read_audit, tabulate
from matcheval.downloads.sources import published_file
from matcheval.errors import InputError
from matcheval.protocol.matching import UNMATCHED
from studies import configuration, load

SIX = predictions([0.9] * 6, [0, 1, 2, 1, 1, 0], [0, 0, 2, 0, 1, 2])


def reviewed(at, other, **votes):
    given = int(SIX.label[at])
    counts = dict.fromkeys(("given", "guessed", "neither", "both"), 0) | votes
    return {"id": at, "given_original_label": given, "our_guessed_label": other, "mturk": counts}


@pytest.fixture
def audit(tmp_path):
    """Write an audit, and read it for the six predictions, or others."""

    def read(content, suffix, names=None, of=SIX):
        path = tmp_path / f"audit{suffix}"
        if suffix == ".npy":
            np.save(path, content)
        else:
            path.write_text(content if suffix == ".csv" else json.dumps(content))
        return read_audit(path, of, names)

    return read


class TestFormats:
    """All say: rows 0 and 2 as given, 1 is 0 too, 3 is 1 and not 0, 4 is undecided, 5 as given."""

    EXPECTED = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    LISTS = [[0], [0, 1], [2], [1], [], [2]]
    NAMES = [f"val/n0{6 - i}/ILSVRC2012_val_{6 - i:08d}.JPEG" for i in range(6)]

    COUNTS = [[9, 1, 0], [5, 5, 0], [0, 0, 2], [4, 6, 0], [0, 0, 0], [0, 1, 9]]
    MAJORITIES = [
        reviewed(1, 1, both=3, given=2), reviewed(3, 1, guessed=5), reviewed(0, 2, given=3),
        reviewed(4, 0, given=2, guessed=2, neither=1),
    ]  # fmt: skip

    @pytest.mark.parametrize(
        ("content", "suffix", "names"),
        [
            (np.array(COUNTS), ".npy", None),
            (LISTS, ".json", [f"test/{i}.png" for i in range(6)]),  # by position
            (LISTS[::-1], ".json", NAMES),  # by the number of a validation image
            (MAJORITIES, ".json", None),
            ("index,label\n1,0\n1,1\n3,1\n4,\n", ".csv", None),
            (f"name,label\n{NAMES[1]},0\n{NAMES[1]},1\n{NAMES[3]},1\n{NAMES[4]},\n", ".csv",
             NAMES),
        ],
    )  # fmt: skip
    def test_read(self, audit, content, suffix, names):
        found = audit(content, suffix, names)
        assert found.is_right.astype(int).tolist() == self.EXPECTED
        assert found.decided.tolist() == [True] * 4 + [False, True]
        assert found.accept(SIX.prediction).tolist() == [True] * 4 + [False] * 2
        assert found.accept(SIX.label).tolist() == [True] * 3 + [False] * 2 + [True]
        assert not found.accept(np.full(6, 7)).any()  # a class that no label has
        assert not found.accept(np.full(6, 32767, np.int16)).any()

    def test_of_some_datapoints_and_of_an_unknown_one(self, audit):
        some = predictions([0.9, 0.8], [2, 1], [2, 0], index=[2, 3])
        assert audit(self.LISTS, ".json", of=some).is_right.tolist() == [
            [False, False, True], [False, True, False],
        ]  # fmt: skip
        with pytest.raises(InputError, match=r"line 2: 'other\.png' with"):
            audit("name,label\nother.png,1\n", ".csv", self.NAMES)

    @pytest.mark.parametrize(
        ("content", "suffix", "words"),
        [
            (np.zeros(6), ".npy", "not counts of classes"),
            (np.eye(3)[[1, 2, 1, 2, 2, 1]], ".npy", "accepts the given label of 0 of the 6"),
            (np.array([[0, 0, 1]] * 5 + [[-1, 0, 1]]), ".npy", "row 5 has counts"),
            (LISTS[:5], ".json", "no entry of 1 datapoints, such as 5"),
            ([0, 0, 2, 0, 1, 2], ".json", "datapoint 0: 0 are not classes.*lists of right classes"),
            ([reviewed(1, 1, given=5) | {"given_original_label": 2}], ".json", "had label 2, not"),
            ([{"id": 3}], ".json", "not an audit"),
            ("index,label\n3,cat\n", ".csv", "line 2: '3' with label 'cat'"),
            ("index\n3\n", ".csv", "no column label"),
        ],
    )
    def test_refused(self, audit, content, suffix, words):
        with pytest.raises(InputError, match=words) as error:
            audit(content, suffix)
        assert "audit" + suffix in str(error.value)


KNOWN = models(900, 700)
RNG = np.random.default_rng(4)
FIRST = KNOWN.comparisons[0]
NEW_LABELS = {  # by origin: of every datapoint, its classes
    origin: [
        [] if u < 0.05 else [(label + 1) % 4] if u < 0.15 else [label, 0] if u < 0.2 else [label]
        for u, label in zip(RNG.random(len(side)), side.label.tolist(), strict=True)
    ]
    for origin, side in (("original", FIRST.original), ("replication", FIRST.replication))
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audits")
    for origin, lists in NEW_LABELS.items():
        (folder / f"{origin}.json").write_text(json.dumps(lists))
    return {
        origin: {"file": str(folder / f"{origin}.json"), "datapoints": None}
        for origin in NEW_LABELS
    }


def shares(side, lists, rows):
    """Accuracies by given and by audited labels over the rows that an audit decides."""
    given, audited = [], []
    for row in rows:
        given.append(side.prediction[row] == side.label[row])
        audited.append(side.prediction[row] in lists[row])
    return np.mean(given), np.mean(audited)


def given_labels(known):
    """An audit of the first model's original that agrees with all labels."""
    return [[label] for label in known.comparisons[0].original.label.tolist()]


def of_original(known, lists, folder):
    """The table by an audit of the original."""
    path = folder / "audit.json"
    path.write_text(json.dumps(lists))
    return tabulate(known, audits={"original": {"file": str(path), "datapoints": None}})


class TestTable:
    def test_by_loops(self, files):
        table = tabulate(KNOWN, audits=files)
        SCHEMA.from_frame(table)
        for comparison in KNOWN.comparisons:
            row = table[(table.model == comparison.model) & (table.matching == "")].iloc[0]
            gaps = np.zeros(2)
            for origin, sign in (("original", 1), ("replication", -1)):
                lists, side = NEW_LABELS[origin], getattr(comparison, origin)
                decided = [i for i, classes in enumerate(lists) if classes]
                gaps += sign * np.array(shares(side, lists, decided))
                assert row[f"n_{origin}"] == len(decided) == len(lists) - row[f"undecided_{origin}"]
                changed = sum(side.label[i] not in lists[i] for i in decided)
                assert row[f"relabelled_{origin}"] == changed
            assert row[["gap", "audited_gap"]].tolist() == pytest.approx(gaps)
            assert row.change == pytest.approx(gaps[1] - gaps[0])
        one = next(KNOWN.matched())
        row = table[(table.model == "m0") & (table.matching == one.name)].iloc[0]
        per_seed = []
        for picks in one.rows.values():
            both = [
                (s, t) for t, s in enumerate(picks) if s != UNMATCHED
                and NEW_LABELS["original"][s] and NEW_LABELS["replication"][t]
            ]  # fmt: skip
            per_seed += both
        source, target = zip(*per_seed, strict=True)
        old = shares(one.comparison.original, NEW_LABELS["original"], source)
        new = shares(one.comparison.replication, NEW_LABELS["replication"], target)
        assert row[["gap", "audited_gap"]].tolist() == pytest.approx(np.subtract(old, new))
        assert row.n_original == row.n_replication == len(per_seed) / len(one.rows)

    def test_names_and_roles_of_sets(self, files):
        table = tabulate(KNOWN, audits=files)
        other = tabulate(
            swapped(KNOWN),
            audits={"original": files["replication"], "replication": files["original"]},
        )
        assert other.change.tolist() == pytest.approx((-table.change).tolist())
        assert other.change_low.tolist() == pytest.approx((-table.change_high).tolist())
        assert other.n_original.tolist() == table.n_replication.tolist()

    def test_labels_that_nobody_audited_stay_and_a_published_file_is_verified(self, files):
        table = tabulate(KNOWN, audits={"original": files["original"]})
        assert (table.accuracy_replication == table.audited_accuracy_replication).all()
        assert (table.relabelled_replication == 0).all()
        assert (table.accuracy_original != table.audited_accuracy_original).all()
        assert plot(table).axes
        audits = {"original": files["original"] | {"published": PUBLISHED["real"]}}
        with pytest.raises(InputError, match=r"original\.json: has [\d,]+ bytes, not 388,478"):
            tabulate(KNOWN, audits=audits)

    def test_an_audit_that_agrees_changes_nothing_but_is_not_certain(self, tmp_path):
        table = of_original(KNOWN, given_labels(KNOWN), tmp_path)
        assert (table.change == 0).all()
        assert ((table.change_low < 0) & (table.change_high > 0)).all()

    def test_the_interval_of_many_datapoints_is_normal(self, tmp_path):
        """Four in ten become right, four wrong: the variance of the difference is 0.8 / n."""
        n = 4000
        gained, lost = np.arange(n) % 10 < 4, np.arange(n) % 10 > 5
        side = predictions(np.linspace(0, 1, n), np.zeros(n, int), gained.astype(int))
        lists = [[0, 1] if g else [int(x)] for g, x in zip(gained, lost, strict=True)]
        known = compared((side, side), methods={}, confidence=0.9)
        row = of_original(known, lists, tmp_path).iloc[0]
        assert row.change == pytest.approx(0)
        half = 1.645 * (0.8 / n) ** 0.5
        assert [row.change_low, row.change_high] == pytest.approx([-half, half], rel=0.01)

    def test_few_datapoints(self, tmp_path):
        few = compared((simulate(29, 3, 0), simulate(500, 3, 1)))
        table = of_original(few, given_labels(few), tmp_path)
        assert table.change.isna().all()
        assert (table.reason == "fewer than 30 datapoints").all()


NEW = "digits-new-writers"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({NEW: "audit.csv"}, ""),
        ({}, "neither set of 'new-writers' has audited labels"),
        ({"digits-train": "audit.csv"}, "'digits-train' is in none of the pairs"),
    ],
)
def test_settings_are_checked_before_any_job(tmp_path, monkeypatch, labels, message):
    monkeypatch.chdir(tmp_path)
    Path("audit.csv").write_text("index,label\n0,1\n")
    audits = {"pairs": ["new-writers"], "labels": labels}
    with pytest.raises(InputError, match=message) if message else nullcontext():
        load(configuration("digits") | {"label_audits": audits})


def test_reassessed_imagenet():
    """The published file, which timm has too: 3,163 images without a class (arXiv 2006.07159)."""
    package = find_spec("timm")
    if package is None:
        pytest.skip("timm is not installed")
    path = Path(package.submodule_search_locations[0], "data/_info/imagenet_real_labels.json")
    content = path.read_bytes()
    expected = published_file(PUBLISHED["real"]).expected
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (expected.sha256, expected.size)
    lists = json.loads(content)
    labels = [one[0] if one else 0 for one in lists]
    found = read_audit(path, predictions([1] * len(labels), labels))
    assert (~found.decided).sum() == 3163
    assert found.accept(np.array(labels))[found.decided].all()
