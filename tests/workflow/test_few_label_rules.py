"""Labels drawn again and again in the real workflow: off by default, files, and what repeats."""

import pytest
from engine import custom_study

BLOCK = "few_labels: {pairs: [both], labels: [10, 20], repetitions: 20, half_width: 0.1}\n"


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """Two models on 60 datapoints, all of them right, with and without the analysis."""
    workflow = custom_study(tmp_path_factory.mktemp("few") / "tree")
    before = workflow.plan().jobs
    with (workflow.folder / "small.yaml").open("a") as study:
        study.write(BLOCK)
    own = {"tabulate_few_labels": 1}
    assert workflow.plan().jobs == before | own
    workflow.run("few_labels")
    return workflow


def test_its_files_are_built(workflow):
    table = workflow.table("mine/few_labels/both")
    assert set(table["dataset"]) == {"new"}
    assert (table["accuracy"] == 1).all()
    assert table["temperature"].isna().all()
    random = table[table["design"] == "random"]
    assert (random["coverage"] == 1).all()
    # All 20 of 60 are right: the chance of that is C(52, 20) / C(60, 20) = 0.030 if 52 are, and
    # 0.018, which is below 0.025, if 51 are.
    last = random[random["labels"] == 20]["half_width"]
    assert last.tolist() == pytest.approx([(60 - 52) / 60 / 2] * 2)
    assert "± 10 points" in (workflow.results / "mine/few_labels/both.md").read_text()
    assert (workflow.results / "mine/figures/few_labels/both.png").stat().st_size


def test_a_setting_repeats_it(workflow):
    assert workflow.plan("few_labels").jobs == {}
    changed = workflow.plan("few_labels", "--config", "few_labels={seed: 1}").jobs
    assert changed == {"few_labels": 1, "tabulate_few_labels": 1}
