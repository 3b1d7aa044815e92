"""The simulation of studies on many GPUs, for cases that are solved by hand."""

import sys
from pathlib import Path

import pytest
import yaml

from matcheval.study.catalogue import read_catalogue

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from scale import STUDIES, Costs, Kind, simulate, spread

ROOT = Path(__file__).parents[2]
FREE = Costs(parse=0, plan=0, submit=0, start=0, python=0, notice=0, plan_memory=0)


@pytest.mark.parametrize("study", ["cifar10", "imagenet"])
def test_the_papers_studies_have_as_many_jobs_as_are_simulated(study):
    config = yaml.safe_load((ROOT / "studies" / f"{study}.yaml").read_text(encoding="utf-8"))
    sets = {name for pair in config["pairs"].values() for name in pair.values()}
    models = read_catalogue(ROOT / config["models"])
    (kinds,) = (kinds for name, kinds in STUDIES.items() if name.lower().startswith(study[:5]))
    trainings = [len(models)] if "training" in config else []
    assert [kind.jobs for kind in kinds] == [*trainings, len(models) * len(sets)]


def test_durations_have_the_mean_they_should():
    factors = list(spread(10_000))
    assert sum(factors) / len(factors) == pytest.approx(1, rel=1e-3)
    assert max(factors) / min(factors) == pytest.approx(25, rel=0.01)


def test_one_gpu_without_overhead_takes_the_sum():
    outcome = simulate((Kind(1000, 3.0), Kind(500, 2.0)), 1, grouped=False, costs=FREE)
    assert outcome.seconds == pytest.approx(4000, rel=5e-3)
    assert outcome.held == pytest.approx(outcome.worked) == pytest.approx(outcome.seconds)


def test_overheads_are_counted_per_job_and_per_submission():
    costs = Costs(parse=1, plan=0.5, submit=2, start=10, python=1, notice=100, plan_memory=0)
    one = simulate((Kind(6, 0.0, group=3),), 1, grouped=False, costs=costs)
    assert (one.submissions, one.held) == (6, 6 * 11)
    two = simulate((Kind(6, 0.0, group=3),), 1, grouped=True, costs=costs)
    assert (two.submissions, two.held) == (2, 2 * (10 + 3))
    # Read and planned (1 + 1.5), submitted first (2 + 0.75), then two submissions, and noticed.
    assert two.seconds == pytest.approx(1 + 1.5 + 2 + 0.75 + 26 + 100)


def test_more_gpus_are_never_slower_nor_beyond_their_number():
    kinds = (Kind(300, 50.0), Kind(2000, 1.0, group=10))
    seconds = [simulate(kinds, gpus, grouped=True).seconds for gpus in (1, 3, 10, 100)]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] / seconds[1] <= 3.001
