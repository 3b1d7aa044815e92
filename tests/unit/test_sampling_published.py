"""Sampling on the real data: keywords of CIFAR-10.1, tasks and near duplicates of ImageNetV2."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from matcheval.analyses.sampling import annotations as workers
from matcheval.analyses.sampling.pool import PoolMetadata, build_pool, keyword_targets
from matcheval.analyses.sampling.rounds import connected_components, sample_in_rounds
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.cli.main import main
from published import DATA, needs_data

pytestmark = needs_data
SETS = ("matched_frequency", "threshold_07", "top_images")


@pytest.fixture(scope="module")
def keywords():
    return json.loads((DATA / "cifar10_1_keywords.json").read_text())


def test_the_published_allocation_of_version_7(keywords):
    """All 299 keywords of CIFAR-10.1 v7, from the keyword counts of CIFAR-10."""
    counts = keywords["cifar10_keyword_counts_v7"]
    targets = {name: keyword_targets(of, 200) for name, of in counts.items()}
    assert targets == keywords["keyword_counts"]["v7"]
    assert sum(map(len, targets.values())) == 299
    assert all(sum(of.values()) == 200 for of in targets.values())


def test_the_rule_of_version_4(keywords, tmp_path):
    """The rule gives 242 of 250 counts; the others were changed by hand (2,023, not 2,021)."""
    counts = keywords["keyword_counts"]["v4"]
    published = {name: len(of) for name, of in keywords["v4_indices_per_keyword"].items()}
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"all": counts}))
    main(
        ["replicate", "allocate", str(path), "--one-per", "30", "--top-keywords", "250",
         "--output", str(tmp_path / "targets.json")]
    )  # fmt: skip
    targets = json.loads((tmp_path / "targets.json").read_text())["all"]
    assert sum(targets.values()) == 2023
    assert sum(published.values()) == 2021
    assert sum(targets.get(name, 0) == published.get(name, 0) for name in counts) == 242


@pytest.fixture(scope="module")
def exposure():
    """How often an image was shown in the paper's tasks, in all of them as `hits`."""
    table = pd.read_parquet(DATA / "mturk_image_exposure.parquet")
    hits = table[[c for c in table if c.startswith("n_hits")]].sum(axis=1)
    return table.assign(hits=hits, wnid=table["wnid"].astype(str))


def controls_of(exposure):
    """Classes of the positive controls, by image."""
    controls = exposure[exposure["n_hits_pos_control"] > 0]
    return dict(zip(controls["image"], controls["wnid"], strict=True))


@pytest.fixture(scope="module")
def frequencies(exposure):
    """Ten annotations for every showing of an image in the paper's tasks, with a known truth.

    Images of the validation set are controls and the others candidates; each image has a
    probability of its own, skewed to 1 as the paper's frequencies are.
    """
    rng = np.random.default_rng(0)
    is_original = exposure["image"].str.startswith("ILSVRC").to_numpy()
    truth = rng.beta(2.5, 1.0, len(exposure))
    negative_only = (exposure["n_hits_pos_control"] == 0).to_numpy() & is_original
    truth[negative_only] = 0.02
    hits = exposure["hits"].to_numpy()
    at = np.repeat(np.arange(len(exposure)), hits)
    showing = np.concatenate([np.arange(n) for n in hits])
    names = exposure["wnid"].to_numpy()
    shown = pd.DataFrame({
        "task": np.char.add(names[at].astype(str), np.char.mod("-%d", showing)),
        "origin": np.where(is_original, "original", "pool")[at],
        "image": exposure["image"].to_numpy()[at],
        "class": names[at],
    })  # fmt: skip
    annotations = workers.simulate_annotations(shown, truth[at], rng, 10)
    counted = workers.selection_frequencies(annotations)
    of_truth = pd.DataFrame({"image": exposure["image"], "class": names, "truth": truth})
    return counted.merge(of_truth, on=["image", "class"], validate="one_to_one")


def test_simulated_annotations_recover_the_truth(frequencies, exposure):
    assert len(frequencies) == (exposure.hits > 0).sum()
    assert frequencies.n_annotations.sum() == 10 * exposure.hits.sum()
    p, n = frequencies.truth.to_numpy(), frequencies.n_annotations.to_numpy()
    z = (frequencies.n_selected.to_numpy() - n * p) / np.sqrt(n * p * (1 - p))
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs((z**2).mean() - 1) < 0.05
    inside = workers.frequency_bins(frequencies.n_selected, n)
    for i in range(5):  # shrunk towards the middle, but in the right order
        assert frequencies.truth[inside == i].mean() == pytest.approx((i + 0.5) / 5, abs=0.17)
    # Pooled over tasks: an image that was shown more often is known better.
    error = (frequencies.frequency - frequencies.truth).to_numpy()
    assert error[n >= 30].std() < error[n == 10].std() / 1.5


def test_controls_are_recovered(frequencies):
    class_of = dict(
        frequencies[(frequencies.origin == "original") & (frequencies.truth > 0.021)][
            ["image", "class"]
        ].itertuples(index=False)
    )
    positive, negative = workers.control_accuracy(frequencies, class_of)
    assert positive == pytest.approx(2.5 / 3.5, abs=0.01)
    assert negative == pytest.approx(0.98, abs=0.001)


# Drawn uniformly the mean is 2.5 / 3.5 = 0.714; the original set's, which is matched, too.
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("matched_frequency", 0.714), ("threshold", 0.76), ("top_images", 0.9)],
)
def test_sampling_from_simulated_annotations(frequencies, exposure, strategy, expected):
    """The published sets as pool: true probabilities are as the strategies mean them."""
    chosen = exposure[exposure[[f"in_{name}" for name in SETS]].any(axis=1)]
    images = dict(zip(chosen["image"], chosen["wnid"], strict=True))
    classes = sorted(set(images.values()))[:100]
    images = {name: group for name, group in images.items() if group in set(classes)}
    settings = SamplingSettings(
        strategy=strategy, per_class=4, min_original=4, fill_upward=True,
        thresholds=dict.fromkeys(classes, 0.4),
    )  # fmt: skip
    pool = build_pool(images, controls_of(exposure), classes, settings, PoolMetadata(frequencies))
    sampled = sample_in_rounds(pool, settings)
    assert Counter(images[name] for name in sampled.drawn_for) == dict.fromkeys(classes, 4)
    truth = frequencies[frequencies.origin == "pool"].set_index("image").truth
    mean = truth[list(sampled.drawn_for)].mean()
    assert mean == pytest.approx(expected, abs=0.05)


def test_histograms_of_the_real_layout(frequencies, exposure):
    """Every class of the original set has annotated images, skewed as the truth is."""
    class_of = controls_of(exposure)
    classes = sorted(set(class_of.values()))
    settings = SamplingSettings(strategy="matched_frequency", per_class=1, min_original=4)
    histograms = workers.class_histograms(frequencies, class_of, classes, settings)
    assert histograms.shape == (1000, 5)
    own = frequencies[frequencies["image"].map(class_of) == frequencies["class"]]
    assert histograms.sum() == (own["origin"] == "original").sum()
    assert (np.diff(histograms.sum(axis=0)) > 0).all()


def test_near_duplicates_of_the_published_sets():
    """Components of the reviewed list, in the final sets; entries made after the release remain."""
    published = json.loads((DATA / "imagenetv2_near_duplicates.json").read_text())
    adjacent = published["components_touching_final_sets"]

    def image(name):
        return ("val" if name.startswith("ILSVRC") else "pool", name)

    components = connected_components(
        (image(name), image(other)) for name, others in adjacent.items() for other in others
    )
    archive = np.load(DATA / "imagenetv2_top1.npz")
    several, linked = {}, {}
    for name in SETS:
        ids = {bytes(row).hex() for row in archive[f"{name}_ids"]}
        inside = [[i for i in c if i[1] in ids] for c in components]
        several[name] = sum(len(members) > 1 for members in inside)
        linked[name] = sum(
            len(members) for members, c in zip(inside, components, strict=True)
            if any(origin == "val" for origin, _ in c)
        )  # fmt: skip
    assert several == {"matched_frequency": 2, "threshold_07": 4, "top_images": 1}
    assert linked == {"matched_frequency": 1, "threshold_07": 1, "top_images": 1}
