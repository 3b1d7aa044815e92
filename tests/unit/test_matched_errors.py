"""Matched gaps without a standard error: the same rules in every table, in words."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from compared import BOTH, models
from helpers import predictions
from matcheval.analyses import class_gaps as class_gaps
from matcheval.analyses import epsilon_sweep as sweep
from matcheval.analyses import severity as severity
from matcheval.datasets.suites import Member, Suite
from matcheval.protocol.compared_models import ComparedModels, error_of_mean, error_of_model
from matcheval.protocol.comparisons import groups
from matcheval.protocol.standard_errors import standard_error

PROBABILITY = {"probability": BOTH["probability"]}


def wrong(known: ComparedModels, models_of=slice(None)) -> ComparedModels:
    """All predictions of some models on the new set are wrong."""
    changed = list(known.comparisons)
    for i in range(len(changed))[models_of]:
        old = changed[i].replication
        others = ((old.label.astype(int) + 1) % 4).tolist()
        label = old.label.astype(int).tolist()
        changed[i] = replace(changed[i], replication=predictions(old.probability, others, label))
    return replace(known, comparisons=tuple(changed))


CASES = {
    "fewer than 30 matched pairs": models(60, 20, methods=PROBABILITY),
    "all predictions on new are right or wrong": wrong(models(200, 150, methods=PROBABILITY)),
    "a set is a single group": replace(
        models(200, 150, methods=PROBABILITY), blocks=groups(np.zeros(200), np.arange(150) % 5)
    ),
}


def by_severity(known):
    """The rows of the new set as the only one of a suite, compared with the old one."""
    sets = {
        name: [getattr(one, origin) for one in known.comparisons]
        for origin, name in known.pair.datasets.items()
    }
    suite = Suite("s", (Member("new", severity=1.0),))
    files = SimpleNamespace(suite=suite, base="old", models=["m0", "m1"], read=sets.get)
    table = severity.tabulate(files, matchings=known.methods, seeds=known.seeds, paired=False)
    return table[table.dataset == "new"]


@pytest.mark.parametrize("why", CASES)
def test_tables_say_why_there_is_none(why):
    known = CASES[why]
    tables = [sweep.tabulate(known, epsilons=[0.005])]
    if known.blocks is None:
        tables.append(by_severity(known))
    if "30" not in why:  # classes with fewer points have no estimates at all
        tables.append(class_gaps.tabulate(known).query("`class` == -1"))
    for table in tables:
        assert table.matched_gap.notna().all()
        assert table.matched_gap_se.isna().all()
        assert table.reason.str.contains(why).all()


def test_a_mean_has_an_error_where_one_model_has():
    """All predictions of one model being wrong do not make the mean one-sided."""
    known = wrong(models(200, 150, methods=PROBABILITY), slice(1))
    matched = list(known.matched())
    assert error_of_model(matched[0], None).reason
    fine, mean = error_of_model(matched[1], None), error_of_mean(matched, None)
    assert (fine.reason, mean.reason) == ("", "")
    assert fine.matched_gap_se == pytest.approx(standard_error(matched[1].errors))
    assert mean.matched_gap == pytest.approx(np.mean([one.matched_gaps.mean() for one in matched]))
    assert mean.matched_gap_low < mean.matched_gap < mean.matched_gap_high
