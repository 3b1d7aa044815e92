"""Studies and their settings, for tests."""

import re
from pathlib import Path

import yaml

from matcheval.study.configuration import complete_configuration, load_study
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
    return load_study(complete_configuration(given, ROOT / "config.yaml"))


def changed(settings, **values):
    """Settings with some values changed, and checked as those of a file are."""
    return type(settings).model_validate(vars(settings) | values)


def rule_bodies() -> list[tuple[str, str]]:
    """Name and text of every rule with jobs in rules/; rules of loops are named as far as known."""
    text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "rules").glob("*.smk"))
    found = []
    for _, name, body in re.findall(r"^( *)rule ?(\w*):\n((?:\1 +.*\n|\n)+)", text, re.MULTILINE):
        in_loop = re.search(r'name:\n +f?"?([\w.]+)', body)
        found.append((name or (in_loop[1] if in_loop else ""), body))
    return [(name, body) for name, body in found if " log:\n" in body]
