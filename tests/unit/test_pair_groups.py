"""Groups and paired images: where they are found, and what of them is checked."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import simulate, written
from matcheval.datasets.folders import write_datapoints
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.predictions.datapoints import groups_of, read_group_file
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout
from matcheval.protocol.comparisons import Comparison, GroupSource, blocks_of_pair
from studies import configuration, load

LAYOUT = Layout()
INDEX = np.arange(4, dtype=np.int32)


def test_groups_of_all_formats_in_order_of_the_indices(tmp_path):
    table = pd.DataFrame({"index": [2, 0, 1, 3], "group": list("baac")})
    table = table.assign(label=0, prediction=0, probability=0.5)
    table.to_csv(tmp_path / "p.csv", index=False)
    table.to_parquet(tmp_path / "p.parquet")
    np.savez(tmp_path / "p.npz", labels=np.zeros(4, int), logits=np.zeros((4, 2)),
             index=table["index"], group=np.array([7, 5, 5, 9]))  # fmt: skip
    for suffix, expected in (("csv", "aabc"), ("parquet", "aabc"), ("npz", "5579")):
        found = groups_of(read_predictions(tmp_path / f"p.{suffix}"), "p")
        assert found.tolist() == list(expected)
    without = written(tmp_path / "q.csv", "label,prediction,probability\n0,0,0.5\n")
    assert groups_of(read_predictions(without), "q") is None


class TestFiles:
    def test_by_index_and_by_name(self, tmp_path):
        by_index = written(tmp_path / "i.csv", "index,group\n3,x\n2,x\n1,y\n0,z\n9,w\n")
        assert read_group_file(by_index, INDEX).tolist() == ["z", "y", "x", "x"]
        by_name = written(tmp_path / "n.csv", "name,group\nd,1\nc,1\nb,2\na,2\n")
        assert read_group_file(by_name, INDEX, list("abcd")).tolist() == ["2", "2", "1", "1"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("index,group\n0,a\n0,b\n", "'index': '0' has two rows"),
            ("index,group\n0,a\n1,b\n", r"no row of '2' \(and 1 more\)"),
            ("image,group\na,x\n", "neither a column 'index' nor 'name'"),
        ],
    )
    def test_bad_files_are_named(self, tmp_path, text, message):
        path = written(tmp_path / "g.csv", text)
        with pytest.raises(InputError, match=message) as caught:
            read_group_file(path, INDEX)
        assert "g.csv" in str(caught.value)


class TestSources:
    def test_a_file_comes_before_what_is_known(self, tmp_path):
        names = [f"digits/{i:04d}" for i in (5, 6, 200, 201)]
        write_datapoints(tmp_path, np.zeros(4, int), names)
        one = simulate(4, 2, 0)
        source = GroupSource(None, "digits", tmp_path / "datapoints.parquet")
        assert source.read(one, [], LAYOUT).tolist() == ["sheet 1", "sheet 1", "sheet 2", "sheet 2"]
        file = written(tmp_path / "g.csv", "name,group\n" + "".join(f"{n},x\n" for n in names))
        assert replace(source, file=file).read(one, [], LAYOUT).tolist() == ["x"] * 4
        assert replace(source, kind="arrays").read(one, [], LAYOUT) is None

    def test_models_with_other_groups(self, tmp_path):
        rows = "label,prediction,probability,group\n" + "0,0,0.5,{}\n" * 2
        files = [
            written(tmp_path / f"{m}.csv", rows.format("a", g)) for m, g in (("m", "b"), ("n", "a"))
        ]
        with pytest.raises(InputError, match="names other groups than"):
            GroupSource().read(simulate(2, 2, 0), files, LAYOUT)
        files[1].write_text(rows.format("a", "b"))
        assert GroupSource().read(simulate(2, 2, 0), files, LAYOUT).tolist() == ["a", "b"]


class TestBlocks:
    def blocks(self, original=None, replication=None, sizes=(6, 4), **pair):
        comparison = Comparison(
            "m", Pair("p", "o", "r", **pair), *(simulate(n, 2, 1) for n in sizes)
        )
        known = {"original": original, "replication": replication}
        return blocks_of_pair(comparison, {k: v and np.array(list(v)) for k, v in known.items()})

    def test_by_role(self):
        assert self.blocks() is None
        found = self.blocks("aabbcc", "ddee")
        assert (found.n_source, found.n_target, found.joint, found.grouped) == (3, 2, False, True)
        for given, numbers in (
            (("aabb", "ddeeff", (4, 6)), (3, 2)),  # the larger replication is the source
            (("aabbcc", None), (3, 4)),  # one set without groups
            ((None, "aabb"), (6, 2)),
        ):
            found = self.blocks(*given)
            assert (found.n_source, found.n_target) == numbers
            assert found.is_grouped_on_one_side == (None in given)

    def test_shared(self):
        found = self.blocks("aabbcc", "abab", groups_shared=True)
        assert (found.n, found.joint) == (3, True)
        with pytest.raises(InputError, match=r"pairs\.p': groups are shared, but not known of"):
            self.blocks("aabbcc", None, groups_shared=True)

    def test_paired(self):
        found = self.blocks(sizes=(5, 5), paired=True)
        assert (found.n, found.joint, found.grouped) == (5, True, False)
        grouped = self.blocks("aabbc", "aabbc", (5, 5), paired=True)
        assert (grouped.n, grouped.joint, grouped.grouped) == (3, True, True)
        with pytest.raises(InputError, match="row by row"):
            self.blocks(paired=True)
        with pytest.raises(InputError, match="different groups in the two sets"):
            self.blocks("aabbc", "aabbb", (5, 5), paired=True)


class TestSettings:
    def study(self, **pair):
        config = configuration("digits")
        config["pairs"]["new-writers"] |= pair
        return config

    def test_files_are_checked_before_any_job(self, tmp_path):
        for name, message in (
            ("digits-known", r"groups\.digits-known': no file at"),
            ("digits-train", "'digits-train'"),
        ):
            with pytest.raises(InputError, match=message):
                load(self.study(groups={name: str(tmp_path / "none.csv")}))
