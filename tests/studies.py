"""Studies and their settings, for tests."""

import re
from functools import cache
from pathlib import Path

import yaml

from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study
from matcheval.study.study import Study

ROOT = Path(__file__).parents[1]


def configuration(name) -> dict:
    """The configuration of one of this repository's studies; `digits` is the default one."""
    path = ROOT / "config.yaml" if name == "digits" else ROOT / "studies" / f"{name}.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    return config | {"models": str(ROOT / config["models"])}


def digit_domains(name="digit-domains") -> dict:
    """The configuration of a study that names no models, such as the embedded one of domains."""
    return yaml.safe_load((ROOT / "studies" / f"{name}.yaml").read_text(encoding="utf-8"))


def load(given) -> Study:
    """Load a study with all analyses, as the workflow does."""
    return load_study(given, default_study=ROOT / "config.yaml", analyses=ANALYSES)


def changed(settings, **values):
    """Settings with some values changed, and checked as those of a file are."""
    return type(settings).model_validate(vars(settings) | values)


@cache
def declared_rules() -> list:
    """The rules that analyses declare in the library (study/rules.py)."""
    given = configuration("digits-sampling") | {"matching": configuration("digits")["matching"]}
    analyses = load(given).analyses.values()
    return [one for each in analyses for one in [*each.made_rules, *each.commands]]


def rule_bodies() -> list[tuple[str, str]]:
    """Name and text of every rule with jobs in rules/; rules of loops have no name there."""
    text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "rules").glob("*.smk"))
    start = r"^( *)(?:use rule \w+ as|rule) ?(\w*)(?: with)?:\n((?:\1 +.*\n|\n)+)"
    found = [(name, body) for _, name, body in re.findall(start, text, re.MULTILINE)]
    return [(name, body) for name, body in found if "localrule: True" not in body]
