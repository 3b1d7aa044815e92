"""Files that strangers made: pickles, archives and arrays cannot crash a reader or mislead it."""

import csv
import gzip
import io
import os
import pickle
import pickletools
import shutil
import tempfile
import zipfile
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matcheval as me
from damage import damaged
from image_sets import cifar_images, encode, tar
from matcheval.datasets.label_spaces import resolve_classes
from matcheval.datasets.sources import load_plain_pickle, open_tree
from matcheval.errors import InputError, printable
from matcheval.io.array_archives import read_arrays
from matcheval.io.files import files_below
from matcheval.io.tables import read_parquet, write_table
from matcheval.io.user_files import read_csv_rows, read_yaml
from matcheval.predictions.array_files import READERS
from matcheval.predictions.formats import load as load_table


@pytest.mark.parametrize("protocol", range(6))
def test_plain_pickles_of_all_protocols_are_read(protocol):
    value = {"a": [1, 2.5, None, True, (b"x", "y")], "array": np.arange(6).reshape(2, 3)}
    if protocol == 5:
        value["array"] = [0]  # arrays are pickled differently there, and no published file uses it
    found = load_plain_pickle(io.BytesIO(pickle.dumps(value, protocol)), "p")
    text = {k.decode() if isinstance(k, bytes) else k: v for k, v in found.items()}
    assert np.array_equal(text["array"], value["array"])
    assert text["a"][:4] == [1, 2.5, None, True]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "it calls os.system"),
        (b"cnumpy\nload\n.", "it calls numpy.load"),
        (b"cnumpy\nndarray\n(I1\ncnumpy\ndtype\n(S'u1'\ntR(lI1000000\ntR.",
         "an array that it builds itself"),
    ],
)  # fmt: skip
def test_other_pickles_are_refused(code, problem):
    with pytest.raises(InputError, match=f"p: not a pickle of plain values .*{problem}"):
        load_plain_pickle(io.BytesIO(code), "p")


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ((1, (9,), np.dtype("f8"), False, b"A" * 8), "without its values"),
        ((1, (1,), np.dtype("O"), False, b"A" * 8), "objects without them"),
        ((1, (1,), np.dtype("<U1"), False, b"\xff\xff\xff\x7f"), "text that is damaged"),
    ],
)
def test_pickled_arrays_are_checked(state, problem):
    """NumPy would take these values for addresses, or read beyond them."""

    class Crafted:
        def __reduce__(self):
            rebuild, arguments, _ = np.zeros(1).__reduce__()
            return rebuild, arguments, state

    with pytest.raises(InputError, match=problem):
        load_plain_pickle(io.BytesIO(pickle.dumps(Crafted(), 2)), "p")


def read_all(path):
    with open_tree(path) as tree:
        return [tree.read(file) for file in tree.paths]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_truncated_archives_are_not_taken_for_smaller_ones(tmp_path, mode):
    """Python's `tarfile` takes a truncated header for the end of the archive."""
    images, _ = cifar_images(20)
    files = {f"a/{i}.png": encode(images[i]) for i in range(20)}
    for less in range(0, 1024, 100):
        whole = tar(files, mode)
        end = len(whole.rstrip(b"\0"))  # the padding after the last file may be missing
        (tmp_path / "f.tar").write_bytes(whole[: int(end * 0.9) - less])
        with pytest.raises(InputError, match=r"f\.tar: not a readable tar archive"):
            read_all(tmp_path / "f.tar")


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_compressed_archive_is_verified_to_its_end(tmp_path, mode):
    """The checksum is behind the last file, where `tarfile` does not read."""
    content = np.random.default_rng(0).integers(0, 256, 50_000, np.uint8).tobytes()
    whole = bytearray(tar({"a/x.png": content}, mode))
    whole[-7] ^= 1
    (tmp_path / "f.tar").write_bytes(whole)
    with pytest.raises(InputError, match=r"f\.tar: not a readable tar archive"):
        read_all(tmp_path / "f.tar")


ZEROS = bytes(2**28 + 1)  # one byte more than any file may unpack to


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("p.csv.gz", lambda path: path.write_bytes(gzip.compress(ZEROS, 1))),
        ("p.parquet", lambda path: pq.write_table(pa.table({"label": np.zeros(2**25 + 1)}), path)),
    ],
)
def test_compressed_tables_are_unpacked_up_to_a_limit(tmp_path, name, write):
    write(tmp_path / name)
    with pytest.raises(InputError, match=r"unpacks from [\d,]+ to 268,435,4\d\d bytes, over 100 "):
        load_table(tmp_path / name)


def test_compressed_archives_are_unpacked_up_to_a_limit_and_into_a_folder_with_room(
    tmp_path, monkeypatch
):
    path, temporary = tmp_path / "f.tgz", tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    content = np.random.default_rng(0).integers(0, 256, 3 * 10**6, np.uint8).tobytes()
    path.write_bytes(tar({"a/x.ppm": content}, "w:gz"))
    temporary.mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 10**6))
    told = rf"f\.tgz: unpacks to 3,\d+,\d+ bytes or more; {temporary} has room for 2,000,000\. "
    with pytest.raises(InputError, match=told + "Free space, set TMPDIR to"):
        read_all(path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**40))
    assert read_all(path) == [content]
    path.write_bytes(tar({"a/x.ppm": ZEROS}, "w:gz"))
    with pytest.raises(InputError, match=r"f\.tgz: unpacks from .* save it without compression"):
        read_all(path)


class TestArchivesOfArrays:
    def test_only_wanted_arrays_are_read(self, tmp_path):
        np.savez_compressed(tmp_path / "a.npz", bomb=np.zeros(2**29, np.uint8), labels=np.arange(3))
        assert list(read_arrays(tmp_path / "a.npz", ["labels", "absent"])) == ["labels"]
        with pytest.raises(InputError, match=r"a\.npz: 'bomb': unpacks from [\d,]+ to 536,871,040"):
            read_arrays(tmp_path / "a.npz", ["bomb"])

    def test_a_changed_bit_is_noticed(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez_compressed(path, labels=np.random.default_rng(0).integers(0, 9, 5000))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.npz: 'labels': a damaged \.npz file"):
            read_arrays(path, ["labels"])

    def test_members_that_are_no_arrays_are_refused(self, tmp_path):
        for content in (b"raw", b"\x93NUMPY\x01\x00\x10\x00{'descr': '|u1'}"):
            with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
                archive.writestr("labels.npy", content)
            with pytest.raises(InputError, match="not a readable array"):
                read_arrays(tmp_path / "a.npz", ["labels"])


def test_values_of_hdf5_files_are_in_the_file_itself(tmp_path, monkeypatch):
    """External storage, virtual datasets and links lead to any file that the user can read."""
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(b"password")
    with h5py.File("other.h5", "w") as file:
        file["secret"] = np.arange(8)
    with h5py.File("external.h5", "w") as file:
        file.create_dataset("a/labels", (8,), "u1", external=[("secret", 0, 8)])
    told = r"external\.h5: 'a/labels': its values are in other files, .* with h5repack or as \.npz"
    with pytest.raises(InputError, match=told):
        READERS[".h5"](tmp_path / "external.h5")
    with h5py.File("links.h5", "w") as file:
        file["labels"] = h5py.ExternalLink("other.h5", "secret")
        file["soft"], file["own"] = h5py.SoftLink("labels"), [1, 2]
    assert READERS[".h5"](tmp_path / "links.h5")[0] == ["own"]


def test_aliases_of_aliases_are_refused(tmp_path):
    """A YAML file of few lines can stand for one that fills the memory."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(7)]
    (tmp_path / "s.yaml").write_text("\n".join(lines))
    told = r"s\.yaml: has over 10,000,000 characters, with what its aliases repeat\. Use fewer"
    with pytest.raises(InputError, match=told):
        read_yaml(tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text("a: &a [*a]")
    with pytest.raises(InputError, match="with what its aliases repeat"):
        read_yaml(tmp_path / "s.yaml")


STRANGE = ["cat\ndog", "cat\x1b[2J", "\u202etac", "c" * 301]


class TestNames:
    """Of classes, groups and files: they stand in tables and on terminals."""

    @pytest.mark.parametrize("name", STRANGE)
    def test_names_of_classes(self, tmp_path, name):
        told = "the class .* has a line break or a control character in its name, or over 300"
        with pytest.raises(InputError, match=told):
            resolve_classes(["a", name])
        table = pa.table({"label": ["a", name], "prediction": ["a", name], "probability": [1, 0.5]})
        pq.write_table(table, tmp_path / "p.parquet")
        with pytest.raises(InputError, match=rf"p\.parquet: 'classes': {told}"):
            me.compare(tmp_path / "p.parquet", tmp_path / "p.parquet")

    def test_no_name_reorders_a_terminal(self):
        assert printable("\u202etac\u2066") == "\\u202etac\\u2066"
        assert str(InputError("'\u202egpj.exe'")) == "'\\u202egpj.exe'"

    def test_files_whose_names_are_no_text(self, tmp_path):
        (tmp_path / "old" / "cat").mkdir(parents=True)
        (tmp_path / "old" / "cat" / os.fsdecode(b"\xff.png")).touch()
        told = r"cat/\\udcff\.png: its name is not UTF-8\. Rename it"
        with pytest.raises(InputError, match=told):
            files_below(tmp_path / "old")


class TestFormulas:
    """What a spreadsheet would run is text there, and itself again when it is read here."""

    TEXTS = (
        "=1+1", "=", "= A(1)", "= \nA", "+a", "-a", "@SUM", "\tx", "\r=x", "'=a",
        "= ERM", "'a", "a=1", "a\n=b", "", "é",
    )  # fmt: skip
    WRITTEN = (*(f"'{text}" for text in TEXTS[:10]), *TEXTS[10:])

    def test_tables(self, tmp_path):
        numbers = -np.arange(len(self.TEXTS), dtype=float)
        table = pa.table({"text": self.TEXTS, "number": numbers})
        write_table(table, tmp_path / "t.csv", tmp_path / "t.parquet")
        with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as stream:
            found = list(csv.DictReader(stream))
        assert [row["text"] for row in found] == list(self.WRITTEN)
        assert [row["number"] for row in found[1:3]] == ["-1", "-2"]
        assert [row["text"] for row in read_csv_rows(tmp_path / "t.csv", ())] == list(self.TEXTS)
        assert read_parquet(tmp_path / "t.parquet").equals(table)


VALUES = (
    {b"data": np.arange(60, dtype=np.uint8).reshape(4, 15), b"labels": [0], b"names": [b"x"]},
    np.array(["a", "bc"]), np.array(["a", None, 3], object), np.zeros((2, 0, 3), ">f4"),
    [1, 2.5, True, ("x", b"y"), {"z": 10**30}],
)  # fmt: skip
PICKLES = [pickle.dumps(value, protocol) for value in VALUES for protocol in range(5)]
INSTRUCTIONS = [
    *(code.code.encode("latin-1") for code in pickletools.opcodes),
    *(b"c%s\n%s\n" % tuple(name.split()) for name in (
        b"numpy ndarray", b"numpy dtype", b"numpy.core.multiarray _reconstruct",
        b"numpy._core.multiarray _reconstruct", b"_codecs encode",
    )),
    b"\x8a\x08" + b"\xff" * 7 + b"\x7f",  # a long, 2^63 - 1
    b"J\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f", b"K\x03", b"X\x02\x00\x00\x00f8", b"U\x02O8",
    b"U\x08" + b"A" * 8,
]  # fmt: skip


@settings(max_examples=int(os.environ.get("MATCHEVAL_EXAMPLES", "60")))
@given(random=st.randoms(use_true_random=False))
def test_damaged_pickles(random):
    """They are refused, or give values whose arrays can be touched, as there is no checksum.

    MATCHEVAL_EXAMPLES=10000 makes a campaign of it.
    """
    content = damaged(random.choice(PICKLES), INSTRUCTIONS, random)
    with suppress(InputError):
        repr(load_plain_pickle(io.BytesIO(content), "p"))
