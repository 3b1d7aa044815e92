import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits
from warm import warm_python

from matcheval.datasets.dataset import content_digest, make_dataset
from matcheval.datasets.digits import N_ROWS, PARTS, Digits, rows_of
from matcheval.datasets.folders import read_dataset, write_datapoints, write_dataset
from matcheval.datasets.prepare import KINDS, build_dataset
from matcheval.errors import InputError
from matcheval.io.json_files import read_json, write_json
from matcheval.settings import read_settings

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"
STUDIES = SCRIPTS.parent / "studies"


@pytest.fixture(scope="module")
def digits():
    return {part: build_dataset(f"digits-{part}", "digits", {"part": part}) for part in PARTS}


@pytest.fixture
def small():
    images = np.arange(24, dtype=np.uint8).reshape(3, 2, 2, 2)
    return make_dataset(
        "small", images, np.array([0, 1, 1]), classes=("a", "b"), max_value=255, source="made up"
    )


def test_parts_are_a_partition_in_row_order():
    rows = np.concatenate([rows_of(part) for part in PARTS])
    assert sorted(rows) == list(range(N_ROWS))
    assert all((np.diff(rows_of(part)) > 0).all() for part in PARTS)


def test_new_writers_are_the_last_497_rows(digits):
    original = load_digits()
    assert np.array_equal(digits["new-writers"].images[..., 0], original.images[1300:])
    assert np.array_equal(digits["new-writers"].labels, original.target[1300:])
    rows = rows_of("known")
    assert np.array_equal(digits["known"].images[..., 0], original.images[rows])
    assert rows.max() < 1300


def test_new_writers_are_divided_where_the_same_digits_are_copied_anew():
    """Each sheet has the labels of the first one, in their order, but for some that are missing."""
    labels = load_digits().target
    study = yaml.safe_load((STUDIES / "digits-shifts.yaml").read_text(encoding="utf-8"))
    blocks = {name: block for name, block in study["datasets"].items() if "sheet" in name}
    ends = [0]
    for name, block in blocks.items():
        start, stop = read_settings(Digits, block, file=name).rows
        assert start == ends[-1]
        ends.append(stop)
        # The eleventh sheet begins 13 digits before the new writers' part.
        sheet = labels[1300 + (start or -13) : 1300 + stop]
        copied = iter(labels[:130])
        assert all(digit in copied for digit in sheet)
    assert ends[-1] == 497


def test_the_split_is_the_published_one(digits):
    # A change of NumPy's random streams, or of the seed, would change every published number.
    assert {part: digits[part].sha256[:16] for part in PARTS} == {
        "train": "c52676a80a296424",
        "validation": "255640b64e3038d7",
        "known": "3bc83d7f7b846e93",
        "new-writers": "e80d4399446407e1",
    }


def test_written_datasets_are_read_back(small, tmp_path):
    write_dataset(small, tmp_path / "small")
    again = read_dataset(tmp_path / "small")
    assert np.array_equal(again.images, small.images)
    assert np.array_equal(again.labels, small.labels)
    assert isinstance(again.images, np.memmap)
    for field in ("name", "classes", "max_value", "source", "sha256", "image_shape"):
        assert getattr(again, field) == getattr(small, field)


def test_writing_twice_gives_the_same_bytes(small, tmp_path):
    for folder in ("one", "two"):
        write_dataset(small, tmp_path / folder)
    for file in ("images.npy", "datapoints.parquet", "dataset.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == [
        "datapoints.parquet", "dataset.json", "images.npy",
    ]  # fmt: skip


def test_the_digest_depends_on_contents_and_shapes(small):
    assert content_digest(small.images, small.labels) == small.sha256
    other = small.images.copy()
    other[-1, -1, -1, -1] ^= 1
    assert content_digest(other, small.labels) != small.sha256
    assert content_digest(small.images.reshape(3, 4, 1, 2), small.labels) != small.sha256


@pytest.mark.parametrize("file", ["images.npy", "datapoints.parquet", "dataset.json"])
@pytest.mark.parametrize("damage", ["remove", "truncate"])
def test_missing_and_truncated_files_are_named(small, tmp_path, file, damage):
    write_dataset(small, tmp_path)
    path = tmp_path / file
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match=file):
        read_dataset(tmp_path)


def test_changed_contents_are_detected(small, tmp_path):
    write_dataset(small, tmp_path)
    np.save(tmp_path / "images.npy", small.images[::-1])
    with pytest.raises(InputError, match="sha256"):
        read_dataset(tmp_path)
    assert len(read_dataset(tmp_path, verify=False)) == 3


def test_unequal_counts_and_labels_out_of_range_are_refused(small, tmp_path):
    write_dataset(small, tmp_path)
    write_datapoints(tmp_path, np.array([0, 1]), ["a", "b"])
    with pytest.raises(InputError, match="3 images, 2 labels"):
        read_dataset(tmp_path)
    write_datapoints(tmp_path, np.array([0, 2, 1]), ["a", "b", "c"])
    with pytest.raises(InputError, match=r"row 1 \(from 0\): 2 is not one of 2 classes"):
        read_dataset(tmp_path)


def test_a_description_without_a_field_is_refused(small, tmp_path):
    write_dataset(small, tmp_path)
    path = tmp_path / "dataset.json"
    description = read_json(path)
    del description["max_value"]
    write_json(description, path)
    with pytest.raises(InputError, match=r"dataset\.json.*max_value"):
        read_dataset(tmp_path)


def test_pixels_above_the_maximum_are_refused():
    with pytest.raises(InputError, match="pixels reach 17"):
        make_dataset(
            "bad", np.full((1, 2, 2, 1), 17, np.uint8), np.array([0]),
            classes=("a",), max_value=16, source="",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "d: top level: part missing"),
        ({"part": "knwn"}, "d: 'part': 'knwn' is none of train, validation, known, new-writers"),
        ({"part": "known", "seed": 1}, "d: top level: unknown key 'seed'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        build_dataset("d", "digits", options)


def test_unknown_kinds_are_refused_and_the_known_ones_listed():
    assert KINDS[0] == "digits"
    with pytest.raises(InputError, match=r"'digit'.*Known: digits, cifar10, "):
        build_dataset("d", "digit", {})


def test_the_command_line_prepares_and_refuses_in_one_line(tmp_path):
    line = [
        warm_python(),
        str(SCRIPTS / "prepare.py"),
        "dataset",
        "--name",
        "d",
        "--kind",
        "digits",
    ]
    options = ["--options", '{"part": "validation"}', "--output", str(tmp_path / "d")]
    done = subprocess.run(line + options, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("d: 100 images of 8×8×1")
    assert read_dataset(tmp_path / "d").name == "d"
    options = ["--options", "part", "--output", str(tmp_path / "e")]
    done = subprocess.run(line + options, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: d: 'options': not JSON")
    assert not (tmp_path / "e").exists()
