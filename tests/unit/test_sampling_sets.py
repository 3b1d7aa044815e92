"""Complete test sets from real images: digits, planted copies, files and the command line."""

import json

import numpy as np
import pytest
import yaml

from helpers import told_json
from image_sets import dataset
from matcheval.analyses.sampling import annotations as workers
from matcheval.analyses.sampling import build
from matcheval.analyses.sampling import settings as schemas
from matcheval.analyses.sampling.build import build_test_set
from matcheval.analyses.sampling.image_search import NEAREST_IMAGES
from matcheval.analyses.sampling.selection import PoolMetadata
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.cli.main import main
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.errors import InputError
from studies import configuration, load


@pytest.fixture(scope="module")
def digits():
    return {
        part: build_dataset(part, "digits", {"part": part})
        for part in ("train", "known", "new-writers")
    }


@pytest.fixture(scope="module")
def folders(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    for name, part in digits.items():
        write_dataset(part, folder / name)
    return folder


def planted_pool(digits, n_copies=30):
    """The new writers with slightly changed copies of some, and of training images."""
    pool, train = digits["new-writers"], digits["train"]
    rng = np.random.default_rng(3)
    twins, seen = rng.permutation(len(pool))[:n_copies], rng.permutation(len(train))[:n_copies]
    images = np.concatenate([pool.images, pool.images[twins], train.images[seen]])
    images[len(pool) :, 0, 0, 0] = 1  # the corner is 0 in all digits
    names = [*pool.names, *(f"twin/{i}" for i in twins), *(f"seen/{i}" for i in seen)]
    labels = np.concatenate([pool.labels, pool.labels[twins], train.labels[seen]])
    return dataset(images, labels, "pool", pool.classes, 16, names=names)


def test_planted_copies_are_never_sampled(digits, monkeypatch):
    monkeypatch.setattr("matcheval.analyses.sampling.annotations.MIN_ANNOTATIONS", 0)
    pool = planted_pool(digits)
    settings = SamplingSettings(strategy="top_images", per_class=40, max_distance=1.5)
    built = build_test_set(
        "new", pool, digits["known"], settings,
        PoolMetadata(frequencies=schemas.FREQUENCIES.from_records([]).to_pandas()),
        against=[digits["train"]],
    )  # fmt: skip
    chosen = set(built.dataset.names)
    assert not any(name.startswith("seen/") for name in chosen)
    reasons = built.excluded.set_index("image")
    for name in (name for name in pool.names if name.startswith("twin/")):
        of = pool.names[int(name.removeprefix("twin/"))]
        assert len({name, of} & chosen) <= 1
    assert set(reasons.reason) == {"near_duplicate"}
    assert reasons.detail.str.startswith(("train/", "pool/", "known/")).all()
    assert len(built.sampled.rounds) > 1
    assert np.bincount(built.dataset.labels).tolist() == [40] * 10


def test_a_set_consists_of_images_of_the_pool_with_their_provenance(digits):
    pool, known = digits["new-writers"], digits["known"]
    keywords = {
        "pool": {name: "even" if i % 2 else "odd" for i, name in enumerate(pool.names)},
        "original": {n: "odd" if i % 4 else "even" for i, n in enumerate(known.names)},
    }
    settings = SamplingSettings(strategy="keywords", per_class=12, seed=4)
    blacklist = pool.names[:20]
    built = build_test_set(
        "new", pool, known, settings, PoolMetadata(keywords=keywords, blacklist=blacklist)
    )
    table = built.provenance
    assert table["index"].tolist() == list(range(120))
    assert [pool.names[i] for i in table.pool_index] == list(table.image)
    assert built.dataset.names == tuple(table.image)
    np.testing.assert_array_equal(built.dataset.pixels, pool.pixels[table.pool_index])
    assert built.strata.groupby("class").n_target.sum().tolist() == [12] * 10
    for count in ("n_drawn", "n_own"):
        assert (built.strata[count] == built.strata.n_target).all()
    assert set(built.excluded.image) == set(blacklist)
    assert not set(table.image) & set(blacklist)
    # Three quarters of the original are odd, up to rounding in each class.
    is_odd = np.arange(len(known)) % 4 != 0
    for label in range(10):
        n_odd = (table[table["class"] == str(label)].stratum == "odd").sum()
        assert abs(n_odd - 12 * is_odd[known.labels == label].mean()) < 1
    assert built.dataset.provenance["pool"] == {"name": "new-writers", "sha256": pool.sha256}


def test_tasks_have_controls_and_show_every_candidate_once():
    pool = {"a": [f"p{i}" for i in range(100)], "b": ["q"]}
    original = {"a": [f"o{i}" for i in range(7)], "b": ["r", "s", "t", "u"]}
    shown = workers.lay_out_tasks(pool, original, np.random.default_rng(0))
    assert not shown.duplicated(["task", "origin", "image", "class"]).any()
    candidates = shown[shown.origin == "pool"]
    assert sorted(candidates.image) == sorted([*pool["a"], "q"])
    class_of = {name: group for group, names in original.items() for name in names}
    controls = shown[shown.origin == "original"]
    is_positive = controls.image.map(class_of) == controls["class"]
    assert (controls[is_positive].image.value_counts() == 1).all()
    assert (controls[~is_positive].groupby("task").size() == 3).all()
    assert candidates.groupby("task").size().max() == 42


def replicate(*arguments):
    main(["replicate", *map(str, arguments)])


@pytest.fixture
def sets(folders):
    return ["--candidates", folders / "new-writers", "--original", folders / "known"]


def test_the_steps_by_command_line(folders, sets, tmp_path, capfd):
    """From simulated annotations to sets, whose mean frequencies are in the expected order."""

    def written(*arguments):
        """What a step says it wrote: JSON, and nothing else on standard output."""
        replicate(*arguments, "--json")
        return told_json(capfd.readouterr().out)["written"]

    annotations, counted = tmp_path / "annotations.csv", tmp_path / "f.parquet"
    assert written("simulate", *sets, "--seed", 1, "--file", annotations) == [str(annotations)]
    count = ["count", *sets, "--annotations", annotations, "--file", counted]
    assert written(*count) == [str(counted)]
    frequencies = schemas.FREQUENCIES.read(counted).to_pandas()
    assert len(frequencies[frequencies.origin == "pool"]) == 497
    sample, options = ["sample", *sets, "--frequencies", counted], tmp_path / "settings.yaml"
    lower = {"per_class": 12, "thresholds": {"8": 0.4, "1": 0.4}}
    means = {}
    for strategy in ("matched_frequency", "threshold", "top_images"):
        asked = {"strategy": strategy, "fill_upward": True, "max_distance": 5, "seed": 2}
        options.write_text(yaml.safe_dump(asked | lower))
        folder = tmp_path / strategy
        files = written(
            *sample, "--name", strategy, "--against", folders / "train", "--output", folder,
            "--settings", options,
        )  # fmt: skip
        tables = [f"{folder}.{name}.parquet" for name in ("provenance", "excluded", "strata")]
        assert files == [str(folder), *tables]
        table = schemas.PROVENANCE.read(tables[0]).to_pandas()
        assert read_dataset(folder).names == tuple(table.image)
        means[strategy] = table.frequency.mean()
        schemas.EXCLUDED.read(tables[1])
        strata = schemas.STRATA.read(tables[2]).to_pandas()
        assert strata.n_drawn.sum() == strata.n_target.sum() == 120
        assert len(strata) == (50 if strategy == "matched_frequency" else 10)
    own = frequencies[(frequencies.origin == "original") & (frequencies.frequency > 0)]
    own = own[
        own.image.map(workers.classes_by_image(read_dataset(folders / "known"))) == own["class"]
    ]
    assert means["matched_frequency"] < means["threshold"] < means["top_images"]
    assert means["matched_frequency"] == pytest.approx(own.frequency.mean(), abs=0.05)
    too_many = '{"strategy": "threshold", "per_class": 60}'
    with pytest.raises(SystemExit):
        replicate(*sample, "--name", "x", "--settings", too_many, "--output", tmp_path / "x")
    assert "class '0': " in capfd.readouterr().err
    assert not (tmp_path / "x").exists()


def test_bad_settings_and_tables_are_refused(sets, tmp_path, capsys):
    sample = ["sample", *sets, "--name", "x", "--output", tmp_path / "x", "--settings"]
    with pytest.raises(SystemExit):
        replicate(*sample, '{"strategy": "threshold", "per_class": 3}')
    assert "needs selection frequencies" in capsys.readouterr().err
    path = tmp_path / "k.csv"
    path.write_text("origin,image,keyword\npool,a,x\npool,a,y\n")
    with pytest.raises(InputError, match=r"row 1 \(from 0\): image 'a' has two keywords"):
        build.read_keywords(path)
    path.write_text("image,set,other\na,train,b\n")
    assert build.read_near_duplicates(path) == [(("pool", "a"), ("train", "b"))]


def test_keywords_are_allocated_by_command_line(tmp_path):
    counts, output = tmp_path / "counts.json", tmp_path / "out.json"
    counts.write_text('{"cat": {"tabby": 3, "tom": 1}, "dog": {"pug": 2}}')
    for option, cats, dogs in (
        (("--per-class", 4), {"tabby": 3, "tom": 1}, {"pug": 4}),
        (("--one-per", 2), {"tabby": 2, "tom": 1}, {"pug": 1}),
    ):
        replicate("allocate", counts, *option, "--file", output)
        assert json.loads(output.read_text()) == {"cat": cats, "dog": dogs}


def test_near_duplicates_by_command_line(folders, tmp_path, capsys):
    output, sheet = tmp_path / "n.parquet", tmp_path / "n.png"
    search = ["duplicates", *(str(folders / name) for name in ("known", "train"))]
    search += ["--file", str(output), "--neighbours"]
    main([*search, "2", "--sheet", str(sheet), "--json"])
    told = told_json(capsys.readouterr().out)
    assert (len(told["neighbours"]), told["written"]) == (1200, [str(output), str(sheet)])
    assert sheet.stat().st_size > 0
    assert NEAREST_IMAGES.read(output).num_rows == 1200


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ({"candidates": "top-images"}, "'top-images' is sampled from a pool that it is part of"),
        ({"simulate": None}, "needs annotations or simulate"),
    ],
)
def test_what_cannot_be_sampled_is_said_before_any_job(pool, message):
    config = configuration("digits-sampling")
    config["sampling"]["pools"]["new-writers"] |= pool
    with pytest.raises(InputError, match=message):
        load(config)


def test_images_similar_to_the_class_mean_are_selected_more_often(digits):
    known = digits["known"]
    centres = workers.class_centres(known.pixels, known.labels, 10)
    mean = known.pixels[known.labels == 3].reshape(-1, 64).mean(axis=0)
    np.testing.assert_allclose(centres[3], mean)
    right = workers.selection_probabilities(known.pixels, known.labels.astype(np.int64), centres)
    wrong = workers.selection_probabilities(
        known.pixels, (known.labels + 1).astype(np.int64) % 10, centres
    )
    assert right.mean() > 0.8
    assert wrong.mean() < 0.15
    assert 0.1 < (right < 0.7).mean() < 0.4
