"""Studies of domain generalisation: their plans, and what is refused before any training."""

from dataclasses import replace

import numpy as np
import pytest

from matcheval.domain_generalization.analysis import DomainGeneralization
from matcheval.domain_generalization.plan import Block, check_images
from matcheval.errors import InputError
from studies import digit_domains, load
from trainings import a_set


def study_with(**changes):
    config = digit_domains()
    config["domain_generalization"] |= changes
    return load(config)


def block(*sources):
    return {"blocks": {"x": {"sources": sources, "targets": "shifted"}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ["corall"]}, "unknown algorithm 'corall'.*coral"),
        ({"recipe": {"architecture": "cnn"}}, "missing: width, depth"),
        (block("plain", "noisy"), "'noisy' is a source, and a target as well"),
        ({"leave_one_out": {"one": "domains"}}, "name of blocks as well"),
        ({"blocks": {}, "leave_one_out": {}}, "give blocks or leave_one_out"),
        (block("plain") | {"leave_one_out": {}, "algorithms": ["eqrm"]},
         "eqrm needs two sources, and every.*single risk"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        study_with(**changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "image_folder", "path": "photos"}, r"more.*Add 'resize: 32'"),
        ({"kind": "digits", "part": "new-writers"}, "has the same images as .*'more'"),
    ],
)
def test_sources_that_are_refused(options, message):
    config = digit_domains()
    config["datasets"]["more"] = options
    config["domain_generalization"]["blocks"]["one"]["sources"] = ["more"]
    with pytest.raises(InputError, match=message):
        load(config)


def test_models_are_trained_on_parts_split_by_their_seed():
    study = study_with()
    models = [name for name in study.trained if name.endswith("erm-0.seed-1")]
    assert len(models) == 4
    trained = study.trained[next(name for name in models if ".plain.erm" in name)]
    assert trained.train == ("plain.without-1-of-5.seed-1",)
    assert trained.validation == ("plain.part-1-of-5.seed-1",)
    recipe = trained.model.recipe
    assert (recipe.keep, recipe.epochs, recipe.epoch_steps, recipe.seed) == ("best", 4, 40, 1)


def test_models_that_are_compared_start_from_the_same_weights():
    """Of the same sources and seed, whatever the algorithm; others differ."""
    trained = study_with().trained
    names = {}
    for one in trained.values():
        names.setdefault(one.train, set()).add(one.model.recipe.seeded_by)
    assert {len(each) for each in names.values()} == {1}
    assert len(set.union(*names.values())) == len(names) / 2 == 4  # of two seeds


def test_the_warehouse_is_planned_with_the_columns_of_the_paper():
    """Single sources: ERM and four algorithms of three groups; else eleven, three seeds each."""
    study = load(digit_domains("cifar10-warehouse-dg"))
    analysis = study.analysis(DomainGeneralization)
    assert len(study.trained) == (4 * 13 + 3 * 31) * 3
    assert [len(block.sources) for block in analysis.blocks] == [1, 1, 1, 1, 2, 3, 4]
    assert len(analysis.blocks[0].targets) == 180
    assert len(set(analysis.blocks[0].columns)) == 14
    recipe = next(iter(study.trained.values())).model.recipe
    assert (recipe.epochs * recipe.epoch_steps, recipe.learning_rate) == (5100, 5e-5)
    # Scored for Figure 5B: ERM and SD's three groups, three seeds each, in all seven blocks.
    assert len(analysis.scored) == (1 + 3) * 3 * 7
    # Jobs on parts of the sources: two algorithms, three seeds, seven blocks.
    assert len(analysis.tested_on_sources) == 2 * 3 * 7
    # Two parts of each of the four sources for every seed.
    assert len(analysis.derivations) == 2 * 3 * 4


def two_classes(name, labels, side=4):
    return a_set(name, len(labels), 0, 2, side, labels=np.array(labels), classes=("a", "b"))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (two_classes("other", [0] * 40), "images of class 'a' only"),
        (two_classes("other", [0, 1] * 5), r"recipe\.batch_size': is 16, but other"),
        (two_classes("other", [0] * 40 + [1]), "1 images of class 'b', fewer than 4 parts"),
    ],
)
def test_prepared_sources_that_are_refused(other, message):
    good = two_classes("good", [0, 1] * 20)
    blocks = [Block("x", "", ("good", "other"), ("good",), ("good",))]
    with pytest.raises(InputError, match=message):
        check_images(blocks, {"good": good, "other": other}, 16, 4)
    check_images(blocks, {"good": good, "other": replace(good, name="other")}, 16, 4)
