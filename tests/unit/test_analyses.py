"""Analyses of which model classifies what correctly; those that train nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drawings import draw
from helpers import accuracies
from matcheval.analyses import (
    class_balanced,
    groups,
    human_accuracy,
    revisions,
    selection_frequency,
    shared_errors,
)
from matcheval.analyses import hard_images as hard
from matcheval.analyses.groups import read_groups
from matcheval.analyses.human_accuracy import read_annotations
from matcheval.analyses.sampling import image_search as search
from matcheval.analyses.selection_frequency import read_counts
from matcheval.datasets.dataset import make_dataset
from matcheval.errors import InputError
from matcheval.predictions.correctness import Correctness, dataset_correctness
from matcheval.statistics.lines import Scale
from published import DATA, needs_data, study
from studies import configuration, load


def known(rows, labels=None):
    """What models get right, a row of 0 and 1 per model."""
    right = np.array([[c == "1" for c in row] for row in rows])
    n = right.shape[1]
    labels = np.zeros(n, np.int64) if labels is None else np.asarray(labels, np.int64)
    names = tuple(f"m{i}" for i in range(len(rows)))
    return Correctness(names, np.arange(n, dtype=np.int64), labels, right)


def images(n, seed=0, name="set"):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 17, (n, 8, 8, 1)).astype(np.uint8)
    return make_dataset(
        name, pixels, np.arange(n) % 3, classes=("ape", "bee", "cow"), max_value=16, source="",
        names=[f"{name}/{i}" for i in range(n)],
    )  # fmt: skip


def test_a_share_of_hard_images_is_exact_in_decimals():
    rows = np.tri(100, dtype=int)  # the i-th image, i models get it right: no ties
    models = known(["".join(map(str, row)) for row in rows])
    for percent in range(1, 101):
        assert len(hard.tabulate(models, "set", share=percent / 100)) == percent
    assert len(hard.tabulate(models, "set", share=1e-12)) == 1


def test_hard_images_come_with_their_ties():
    models = known(["1011010100", "1011000100", "1011010000"])
    table = hard.tabulate(models, "set", share=0.1)
    assert table["index"].tolist() == [1, 4, 6, 8, 9]  # right of none: all, though one would do
    table = hard.tabulate(models, "set", share=0.6)
    assert table["index"].tolist() == [1, 4, 6, 8, 9, 5, 7]
    assert table.n_right.tolist() == [0] * 5 + [2] * 2
    draw(hard.plot_hard_images(table, images(10), most=2))


def test_balanced_subsets_are_exactly_balanced():
    labels = np.array([0] * 5 + [1] * 9 + [3] * 7)
    rows = class_balanced.balanced_rows(labels, 0)
    assert np.bincount(labels[rows]).tolist() == [5, 5, 0, 5]
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == class_balanced.balanced_rows(labels, 0).tolist()
    counts = np.zeros(21)
    for seed in range(2000):
        counts[class_balanced.balanced_rows(labels, seed)] += 1
    assert counts[:5].min() == 2000
    np.testing.assert_allclose(counts[5:14] / 2000, 5 / 9, atol=0.05)
    table = class_balanced.tabulate(known(["1" * 5 + "0" * 9 + "1" * 7], labels), "set", seed=3)
    row = table.iloc[0]
    assert (row.accuracy_by_class, row.accuracy_balanced) == (2 / 3, 2 / 3)
    assert row.accuracy_all == 12 / 21
    assert (row.per_class, row.n_balanced) == (5, 15)


def test_accuracy_by_frequency_by_hand(tmp_path):
    path = str(tmp_path / "counts.csv")
    pd.DataFrame({
        "index": [0, 1, 2, 3, 5],
        "n_annotations": [10, 10, 5, 0, 10],
        "n_selected": [10, 2, 3, 0, 7],
    }).to_csv(path)  # fmt: skip
    table = selection_frequency.tabulate(known(["110001", "011111"]), "set", path)
    first = table[table.model == "m0"]
    assert first.n_bin.tolist() == [0, 1, 0, 2, 1]  # 3 of 5 and 7 of 10 are in [0.6, 0.8)
    assert first.n_correct_bin.tolist() == [0, 1, 0, 1, 1]
    assert np.isnan(first.iloc[0].accuracy_bin)
    draw(selection_frequency.plot(table))
    with pytest.raises(InputError, match="not datapoints of the dataset, such as 5"):
        selection_frequency.tabulate(known(["10101"]), "set", path)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_counts, "index,n_annotations\n0,1\n", "no column n_selected"),
        (read_counts, "index,n_annotations,n_selected\n0,1,2\n", "selected by 2 of 1 annotators"),
        (read_groups, "index,group\n0,a\n0,b\n", "twice"),
        (read_groups, "index,group\n-1,a\n", "index '-1'"),
        (read_annotations, "participant,set,index,answer\nann,original,0,1\nann,original,0,2\n",
         "'ann' annotated image 0 of the original twice"),
    ],
)  # fmt: skip
def test_bad_files_are_refused(tmp_path, read, text, message):
    (tmp_path / "given.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "given.csv")


def test_human_accuracies_by_hand(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text(
        "participant,set,index,answer\n"
        "ann,original,0,1\nann,original,2,0\nann,replication,1,1\n"
        "bob,original,0,1\nbob,original,2,2\n"
    )
    sets = {
        "original": known(["101", "100"], [1, 0, 2]), "replication": known(["01", "11"], [0, 1]),
    }  # fmt: skip
    table = human_accuracy.tabulate(read_annotations(path), sets, "pair")
    assert table.participant.tolist() == ["bob", "ann"]
    ann = table.iloc[1]
    assert (ann.n_original, ann.n_correct_original, ann.accuracy_original) == (2, 1, 0.5)
    assert (ann.models_original, ann.models_replication) == (0.75, 1.0)
    assert ann.gap == -0.5
    assert np.isnan(table.iloc[0].gap)  # bob saw no images of the new set

    path.write_text("participant,set,index,answer\nann,original,7,1\n")
    with pytest.raises(InputError, match="not datapoints of the dataset, such as 7"):
        human_accuracy.tabulate(read_annotations(path), sets, "pair")


def test_shared_errors_by_hand():
    """Wrong: 0, 1, 2, 3 of the first; 2, 3, 4 of the second; none of the third."""
    table = shared_errors.tabulate(known(["0000111111", "1100011111", "1" * 10]), "set")
    assert table.n_wrong_both.tolist() == [2, 0, 0]
    assert table.jaccard.tolist() == [2 / 5, 0, 0]
    assert table.jaccard_by_chance[0] == pytest.approx(1.2 / (7 - 1.2))
    models = shared_errors.summarise_by_model(table)
    assert models.model.tolist() == ["m2", "m1", "m0"]
    assert models.nearest.tolist() == ["m0", "m0", "m1"]
    assert models.jaccard.tolist() == [0, 0.2, 0.2]
    assert np.isnan(shared_errors.tabulate(known(["11", "11"]), "set").jaccard[0])
    draw(shared_errors.plot(table))
    with pytest.raises(InputError, match="one model"):
        shared_errors.tabulate(known(["10"]), "set")


def test_accuracies_by_group_by_hand(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("index,group\n0,both\n4,one\n2,both\n1,one\n")
    table = groups.tabulate(known(["10111", "00011"]), "set", str(path))
    assert table.group.tolist() == ["both", "one"] * 2
    assert table.n_group.tolist() == [2] * 4
    assert table.n_correct_group.tolist() == [2, 1, 0, 1]


def test_revisions_by_hand():
    first, second = accuracies({"a": 60, "b": 50}, 100), accuracies({"b": 52, "a": 61}, 100)
    sets = {"r1": first, "r2": second, "r3": accuracies({"a": 35, "b": 30}, 50)}
    table = revisions.tabulate(sets, "test")
    assert table.number.tolist() == [1, 2, 3] * 2
    np.testing.assert_allclose(table.change, [np.nan, 0.01, 0.09, np.nan, 0.02, 0.08])
    assert revisions.SCHEMA.text_columns(table)[-1].cells == ["+10.00"] * 3  # of all revisions
    short = {"r1": first, "r2": accuracies({"a": 1}, 2)}
    assert revisions.tabulate(short, "test", without=["b"]).model.tolist() == ["a", "a"]
    with pytest.raises(InputError, match=r"r2: .*no top-1 accuracy of 1 model \(b\)"):
        revisions.tabulate(short, "test")


def test_near_duplicates_table_and_sheet():
    sets = images(6, 1, "test"), images(40, 2, "train")
    queries, references = (search.with_pixel_array(dataset) for dataset in sets)
    references.pixels[7] = queries.pixels[4]
    table = search.find_near_duplicates(queries, references, 5)
    frame = table.to_pandas()
    assert len(frame) == 30
    copy = frame[frame["query"] == 4].iloc[0]
    assert (copy.reference, copy.distance, copy.ssim_rank) == (7, 0, 1)
    assert copy.ssim == pytest.approx(1)
    assert (copy.query_name, copy.reference_name) == ("test/4", "train/7")
    assert search.most_similar_queries(frame, 3)[0] == 4
    draw(search.plot_near_duplicates(frame, *sets, rows=3))
    within = search.find_near_duplicates(references, references, 1).to_pandas()
    assert (within["query"] != within["reference"]).all()
    with pytest.raises(InputError, match=r"values up to 16 cannot be compared .* up to 255"):
        search.find_near_duplicates(queries, replace(references, max_value=255), 1)


NEW, OLD = "digits-new-writers", "digits-known"
NEW_OLD = {"sets": {NEW: OLD}}
PAIR = {"pairs": ["new-writers"]}


@pytest.mark.parametrize(
    ("analysis", "block", "message"),
    [
        ("effective_robustness", {"sets": {NEW: [OLD, NEW]}}, "'digits-new-writers' is its own"),
        ("effective_robustness", NEW_OLD | {"standard": ["resnet50"]}, "unknown model 'resnet50'"),
        ("effective_robustness", NEW_OLD | {"standard": ["mlp-64-ce", "cnn-16-ce", "resnet-8-ce"]},
         "3 standard models, but the fit to 1 base set needs 4, one of which it leaves out. Name"),
        ("score_comparison", PAIR | {"validation": OLD}, "'digits-known' is a set of pair 'new-wr"),
        ("score_comparison", PAIR | {"ensembles": {"linear-ce": ["linear-ce"]}}, "is a model, too"),
        ("paired_gaps", PAIR, "'new-writers' is not declared as paired"),
        ("severity", {"suites": {"s": OLD}}, "no set has a severity"),
    ],
)  # fmt: skip
def test_settings_are_checked(analysis, block, message):
    suites = {"s": {"members": [NEW]}}
    with pytest.raises(InputError, match=message):
        load(configuration("digits") | {"suites": suites, analysis: block})


def test_gaps_by_severity_are_of_all_classes():
    members = [{"dataset": NEW, "severity": 1, "classes": ["1", "2"]}]
    given = {"suites": {"s": {"members": members}}, "severity": {"suites": {"s": OLD}}}
    with pytest.raises(InputError, match="some classes"):
        load(configuration("digits") | given)


# Published predictions -------------------------------------------------------


@needs_data
def test_classes_reweighted_in_the_published_set():
    """CIFAR-10.1 v4 with equal weights of the classes: 0.20 points more, mean of 30 models."""
    cifar = study("recht-cifar10")
    spec = cifar.datasets[cifar.pairs["v4"].replication]
    table = class_balanced.tabulate(dataset_correctness(spec, list(cifar.models)), spec.name)
    assert table.per_class.tolist() == [161] * 30
    assert round(100 * (table.accuracy_by_class - table.accuracy_all).mean(), 2) == 0.20


@needs_data
def test_accuracy_rises_with_the_agreement_of_annotators(tmp_path):
    """A stand-in for selection frequencies, which were not published: 6,761 ambiguous images."""
    agreement = pd.read_parquet(DATA / "optional" / "imagenet_classify_agreement.parquet")
    imagenet = study("recht-imagenet")
    pair = imagenet.pairs["matched-frequency"]
    left_out = imagenet.analyses["replication"].settings.left_out(Scale.LINEAR)
    networks = [model for model in imagenet.models if model not in left_out]  # of its figures
    right = dataset_correctness(imagenet.datasets[pair.original], networks)
    with np.load(DATA / "imagenetv2_top1.npz") as archive:
        row = {int(number): i for i, number in enumerate(archive["val_ids"])}
    numbers = agreement.image.str.extract(r"val_(\d+)")[0].astype(int)
    path = tmp_path / "counts.csv"
    pd.DataFrame({
        "index": numbers.map(row), "n_annotations": agreement.n_annot,
        "n_selected": (agreement.sel_freq * agreement.n_annot).round().astype(int),
    }).to_csv(path)  # fmt: skip
    table = selection_frequency.tabulate(right, pair.original, str(path))
    mean = 100 * table.groupby("bin").accuracy_bin.mean()
    assert mean.round(1).tolist() == [39.1, 61.6, 69.3, 73.5, 78.6]
