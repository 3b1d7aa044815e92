"""Sampling on published data: keywords of CIFAR-10.1, near duplicates of ImageNetV2."""

import json

import numpy as np
import pytest

from matcheval.analyses.sampling.selection import connected_components, keyword_targets
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
         "--file", str(tmp_path / "targets.json")]
    )  # fmt: skip
    targets = json.loads((tmp_path / "targets.json").read_text())["all"]
    assert sum(targets.values()) == 2023
    assert sum(published.values()) == 2021
    assert sum(targets.get(name, 0) == published.get(name, 0) for name in counts) == 242


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
