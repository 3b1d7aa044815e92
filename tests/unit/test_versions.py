"""For every edit of an expensive stage, somebody decides whether it changes results.

Datasets, sampling, training and inference run by `shell:` rules, which do not notice edits of the
library. If an edit changes results, raise the version of the stage, so that everything is rebuilt.
If it does not (a message, a type, a faster way to the same bytes), leave the version alone. In both
cases, enter the decision by `make stages`; this test is the reminder, and so is a warning of every
run. Results are compared with `fingerprints.json`.
"""

import hashlib
import json
import re
import sys

import pytest
import yaml

import fingerprints
from fingerprints import GROUPS, NAMES, present, stored
from golden.values import differs
from matcheval import stages
from matcheval.io.provenance import CodeDigests
from matcheval.models.transforms import _WORDS
from studies import ROOT, rule_bodies

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
    decided, now = stages.recorded_stages()[script], stages.current_stages(digests)[script]
    assert decided["versions"] == now["versions"], ENTER
    assert decided["code"] == now["code"], f"the code behind {script} was edited: {ENTER}"


def test_a_run_warns_of_an_edit_nobody_decided_on(monkeypatch, tmp_path):
    monkeypatch.setattr(stages, "FILE", tmp_path / "stages.json")
    monkeypatch.setattr(stages, "PYTHON", ".".join(map(str, sys.version_info[:2])))
    stages.record_stages(lambda script: f"code of {script}")
    assert stages.stage_warnings(lambda script: f"code of {script}") == []
    (warning,) = stages.stage_warnings(lambda script: f"code of {script.replace('train', 'it')}")
    assert "The code of train was edited" in warning
    assert "raise TRAINING_VERSION" in warning
    # With a raised version, results are made again anyway.
    known = json.loads(stages.FILE.read_text())
    known["train"]["versions"]["TRAINING_VERSION"] -= 1
    stages.FILE.write_text(json.dumps(known))
    changed = stages.stage_warnings(lambda script: "")
    assert len(changed) == len(stages.STAGES) - 1
    monkeypatch.setattr(stages, "PYTHON", "3.9")
    assert stages.stage_warnings(lambda script: "") == []


# A changed text of a command repeats no job, as Snakemake's trigger `code` is off: what matters is
# in the rules' parameters. Whoever edits a text so that results change raises the version of
# the stage as well; in any case, enter the digest here.
COMMANDS = 22, "3452b844e19b"


def test_the_texts_of_commands_are_the_same():
    """Of every `shell:` command."""
    names = {"TIME_LIMIT": " --minutes"}
    found = {}
    for name, body in rule_bodies():
        if text := re.search(r"^ *shell:\n((?: {8,}.*\n)+)", body, re.MULTILINE):
            found[name] = eval(f"({text[1]})", names)
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    assert (len(found), digest[:12]) == COMMANDS


def test_every_rule_has_its_code_or_a_version_as_parameter():
    """As Snakemake's own trigger is off."""
    profile = yaml.safe_load((ROOT / "profiles" / "default" / "config.yaml").read_text())
    assert profile["rerun-triggers"] == ["mtime", "params", "input", "software-env"]
    for name, body in rule_bodies():
        if re.search(r"^ *shell:", body, re.MULTILINE):
            given = r"^ *(version|state|identity|url)="
            assert re.search(given, body, re.MULTILINE), body
        elif "script:" in body and name != "check":  # which always runs
            assert re.search(r"script:\n +ANALYSE\n", body), body
            (function,) = re.findall(r'\*\*calls\(\s*"([\w.:]+)"', body)
            assert ("code=" in body) == function.endswith(":make_calls"), name


STORED = stored()


@pytest.mark.parametrize(("group", "name"), NAMES, ids=[f"{g}-{n}" for g, n in NAMES])
def test_results_are_those_of_the_version(group, name):
    known, found = STORED.get(f"{group}/{name}"), present(group, name)
    constants = " and ".join(GROUPS[group][2])
    write = "enter it with 'python tests/fingerprints.py'"
    assert known is not None, f"{group} '{name}' has no fingerprint: {write}"
    assert not differs(found, known) or found["versions"] != known["versions"], (
        f"{group} '{name}' gives other results than before. If that is meant, raise {constants}, "
        f"so that what depends on it is made again, and {write}"
    )
    assert found["versions"] == known["versions"], f"{constants}: another version; {write}"
    assert not differs(found, known), f"{group} '{name}' gives other results; {write}"


def test_every_fingerprint_is_of_something():
    assert set(STORED) == {f"{group}/{name}" for group, name in NAMES}
    assert set(fingerprints.RESIZES) == {"none", *_WORDS}
