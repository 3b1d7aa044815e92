"""For every edit of an expensive stage, somebody decides whether it changes results.

Datasets, sampling, training and inference run by `shell:` rules, which do not notice edits of the
library. If an edit changes results, raise the version of the stage, so that everything is rebuilt.
If it does not (a message, a type, a faster way to the same bytes), leave the version alone. In both
cases, enter the decision by `make stages`; this test is the reminder, and so is a warning of every
run. Results are compared by `test_fingerprints.py`.
"""

import hashlib
import json
import re
import sys

import pytest
import yaml

from matcheval import stages
from matcheval.io.provenance import CodeDigests
from studies import ROOT, declared_rules, rule_bodies

ENTER = "raise the version of the stage if its results change, and enter it by `make stages`"


@pytest.fixture(scope="module")
def digests(tmp_path_factory):
    file = tmp_path_factory.mktemp("code") / "digests.json"
    return CodeDigests(ROOT / "workflow_scripts", file)


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="syntax trees differ between versions of Python"
)
@pytest.mark.parametrize("script", stages.STAGES)
def test_an_edit_was_decided_on(script, digests):
    decided, now = stages.decided()[script], stages.decisions(digests)[script]
    assert decided["versions"] == now["versions"], ENTER
    assert decided["code"] == now["code"], f"the code behind {script} was edited: {ENTER}"


def test_a_run_warns_of_an_edit_nobody_decided_on(monkeypatch, tmp_path):
    monkeypatch.setattr(stages, "FILE", tmp_path / "stages.json")
    monkeypatch.setattr(stages, "PYTHON", ".".join(map(str, sys.version_info[:2])))
    stages.enter(lambda script: f"code of {script}")
    assert stages.undecided(lambda script: f"code of {script}") == []
    (warning,) = stages.undecided(lambda script: f"code of {script.replace('train', 'it')}")
    assert "The code of train was edited" in warning
    assert "raise TRAINING_VERSION" in warning
    # With a raised version, results are made again anyway.
    known = json.loads(stages.FILE.read_text())
    known["train"]["versions"]["TRAINING_VERSION"] -= 1
    stages.FILE.write_text(json.dumps(known))
    changed = stages.undecided(lambda script: "")
    assert len(changed) == len(stages.STAGES) - 1
    monkeypatch.setattr(stages, "PYTHON", "3.9")
    assert stages.undecided(lambda script: "") == []


# A changed text of a command repeats no job, as Snakemake's trigger `code` is off: what matters is
# in the rules' parameters. Whoever edits a text so that results change raises the version of
# the stage as well; in any case, enter the digest here.
COMMANDS = {
    "score_rotation": "40ad9bc85092", "prepare_dataset": "eff76924f392",
    "derive_dataset": "9664f672dde4", "download_file": "00f70664f30e",
    "download_weights": "9834fee8580b", "extract_features": "fa5992beef4b",
    "predict_datasets": "a0258e0c5635", "simulate_annotations": "88c6a71b93d8",
    "count_selections": "57600fcb4aa4", "sample_dataset": "e6c417212aa2",
    "train_model": "446e54d44509", "train_models": "e5b933136d28",
    "prepare_made_datasets": "6836e765aa82", "read_warehouse_set": "77eedcc7cfef",
    "hash_warehouse_reference": "1678eced4b97", "search_warehouse": "8ad656135e3b",
    "decide_warehouse_set": "438f46b90b4e", "export_warehouse_set": "e7a40022f3ef",
    "document_warehouse": "a724cee649c3",
}  # fmt: skip


DECLARED = [one for one in declared_rules() if hasattr(one, "command")]


def commands():
    """A digest of the text of every `shell:` command, by rule."""
    common = (ROOT / "rules" / "common.smk").read_text()
    texts = dict(re.findall(r'^(LEASE_GPU|TIME_LIMIT) = (".*?")(?: if .*)?$', common, re.MULTILINE))
    found = {}
    for name, body in rule_bodies():
        if text := re.search(r"^    shell:\n((?:        .*\n)+)", body, re.MULTILINE):
            shell = re.sub("LEASE_GPU|TIME_LIMIT", lambda match: texts[match[0]], text[1])
            command = eval(f"({shell})").encode()
            found[name] = hashlib.sha256(command).hexdigest()[:12]
    for one in DECLARED:
        found[one.name] = hashlib.sha256(one.command.encode()).hexdigest()[:12]
    return found


def test_the_texts_of_commands_are_the_same():
    assert commands() == COMMANDS


def test_every_rule_has_its_code_or_a_version_as_parameter():
    """As Snakemake's own trigger is off."""
    profile = yaml.safe_load((ROOT / "profiles" / "default" / "config.yaml").read_text())
    assert profile["rerun-triggers"] == ["mtime", "params", "input", "software-env"]
    bodies = [body for name, body in rule_bodies() if name != "check"]  # which always runs
    scripts = [body for body in bodies if re.search(r"^ *script:", body, re.MULTILINE)]
    assert len(scripts) == 4  # that of all `Rule`s is one of them
    for body in scripts:
        assert re.findall(r"workflow_scripts/(\w+)\.py", body) == ["analyse"]
        assert re.search(r'code=digest\(\s*"analyse", ?\s*(one\.function|"matcheval)', body), body
    for body in bodies:
        if re.search(r"^ *shell:", body, re.MULTILINE):
            given = r"^ *((version|state|identity|url)=|\*\*one.params)"
            assert re.search(given, body, re.MULTILINE), body
    assert len(DECLARED) == 9
    assert all({"version", "state"} & set(one.params) for one in DECLARED)
