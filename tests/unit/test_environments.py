"""The pinned versions agree: lock file, conda environments, requirements."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from hashlib import sha256
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from matcheval.registry import ANALYSES
from matcheval.study.tables import TableAnalysis
from studies import ROOT, rule_bodies


def lock(name="lock"):
    """The newest pinned version of each package; all have hashes."""
    text = (ROOT / "envs" / f"{name}.txt").read_text()
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)(?: ; .+)? \\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[^ #]", text, re.MULTILINE))
    return dict(sorted(pins, key=lambda pin: Version(pin[1])))


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_the_lock_satisfies_the_requirements(requirement):
    assert requirement.specifier.contains(lock()[requirement.name.lower()])


def test_what_runs_the_workflow_is_of_the_same_versions():
    assert lock("workflow").items() <= lock().items()


def test_every_requirement_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text[text.index("dependencies = [") : text.index("[project.scripts]")]
    lines = [line for line in listed.splitlines() if '"' in line]
    assert len(lines) > 30
    assert [line for line in lines if "# " not in line] == []


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_conda_environments_are_the_locks(path):
    assert pins(path.stem).items() <= lock().items()


def test_the_build_backend_is_pinned_to_the_locks():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build == [f"setuptools=={lock()['setuptools']}"]


LIBRARY = ROOT / "workflow_scripts"


def modules(environment):
    """The modules that jobs with an environment begin with: scripts, and the library's functions.

    Those that are imported by name, such as builders of datasets and analyses, are among them.
    """
    found = set()
    for _, rule in rule_bodies():
        if f"envs/{environment}.yaml" in rule:
            found |= set(re.findall(r'MATCHEVAL_JOB" (\w+)', rule))
            found |= set(re.findall(r'"(matcheval[\w.]+):\w+"', rule))
    if environment == "analysis":
        found |= {one.__module__ for one in ANALYSES if issubclass(one, TableAnalysis)}
    return found


def pins(environment):
    """The packages that an environment lists."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text(encoding="utf-8")
    return dict(re.findall(r"^ {6}- (\S+)==(\S+)$", text, re.MULTILINE))


# Brought by packages that are listed; of Snakemake's own process, or of commands.
NOT_LISTED = {"urllib3", "markupsafe", "pydantic-core", "packaging", "huggingface-hub"}
NOT_NEEDED = {
    "analysis": {"torch", "torchvision", "timm", "open-clip-torch", "safetensors", "requests"},
    "models": {"jinja2"},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("environment", ["analysis", "models"])
def test_an_environment_has_what_its_jobs_import(environment):
    """What is not needed is not imported with the modules that jobs begin with."""
    owners, names = metadata.packages_distributions(), set()
    for file in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.split(".")[0])
    own = {"matcheval", *(path.stem for path in LIBRARY.iterdir())}
    others = {name for name in names - own - sys.stdlib_module_names if "snakemake" not in name}
    needed = {owners[name][0].lower().replace("_", "-") for name in others}
    assert needed - pins(environment).keys() - NOT_LISTED == NOT_NEEDED[environment]
    assert len(modules(environment)) >= 10
    code = (
        "import sys; from importlib import import_module\n"
        f"sys.modules |= dict.fromkeys({NOT_NEEDED[environment]})\n"
        f"for name in {modules(environment)}: import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=LIBRARY, check=True)


def test_both_containers_are_of_one_recipe():
    docker = (ROOT / "envs" / "Containerfile").read_text()
    apptainer = (ROOT / "envs" / "container.def").read_text()
    (image,) = re.findall(r"^FROM (\S+)$", docker, re.MULTILINE)
    assert re.findall(r"^From: (\S+)$", apptainer, re.MULTILINE) == [image]
    copied = set(" ".join(re.findall(r"^COPY (.+) \S+$", docker, re.MULTILINE)).split())
    assert set(re.findall(r"^    (\S+) /opt/matched-eval/\S+$", apptainer, re.MULTILINE)) == copied
    assert all((ROOT / file).exists() for file in copied)
    for recipe in (docker, apptainer):
        assert "envs/install.sh" in recipe
        assert "pip" not in recipe
    python = yaml.safe_load((ROOT / "envs" / "models.yaml").read_text())["dependencies"][0]
    assert f"/python:{python.partition('=')[2]}." in image


BACKEND = """
import shutil
def build_wheel(folder, *_):
    return shutil.copy("own-1.0-py3-none-any.whl", folder).rpartition("/")[2]
"""


def write_wheel(folder, name, version):
    """Write an empty package; returns its line of a lock file."""
    file = folder / f"{name}-{version}-py3-none-any.whl"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "RECORD": "",
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(f'<a href="{file.name}">{file.name}</a>')
    with zipfile.ZipFile(file, "w") as archive:
        for part, text in files.items():
            archive.writestr(f"{name}-{version}.dist-info/{part}", text)
    return f"{name}=={version} --hash=sha256:{sha256(file.read_bytes()).hexdigest()}\n"


@pytest.fixture
def install(tmp_path):
    """Run envs/install.sh in a fresh environment; returns the process and what is installed."""
    venv.create(tmp_path / "venv", with_pip=False)
    (tmp_path / "envs").mkdir()
    shutil.copy(ROOT / "envs" / "install.sh", tmp_path / "envs")
    names, index = ("setuptools", "torch", "torchvision", "nvidia-x", "other"), tmp_path / "index"
    lines = [write_wheel(index / name, name.replace("-", "_"), "1.0") for name in names]
    write_wheel(tmp_path, "own", "1.0")
    for name in ("torch", "torchvision"):
        write_wheel(tmp_path / "cpu" / name, name, "1.0+cpu")
    (tmp_path / "backend.py").write_text(BACKEND)
    system = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (tmp_path / "pyproject.toml").write_text(f"[build-system]\n{system}")
    pip = f"{sys.executable} -m pip --python {tmp_path / 'venv' / 'bin' / 'python'}"
    (tmp_path / "python").write_text(f'#!/bin/sh\nshift 2\nexec {pip} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "TORCH_"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index.as_uri()}

    def install(changed=str, **variables):
        (tmp_path / "lock.txt").write_text(changed("".join(lines).replace("_", "-")))
        command = ["sh", tmp_path / "envs" / "install.sh", tmp_path / "python", "lock.txt", "."]
        env = environment | variables
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        (library,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
        return done, {path.name.removesuffix(".dist-info") for path in library.glob("*.dist-info")}

    return install


LOCKED = {"setuptools-1.0", "other-1.0", "own-1.0"}


@pytest.mark.slow
def test_files_with_other_hashes_are_not_installed(install):
    done, found = install(lambda text: re.sub(r"(other.*)\w{8}", r"\g<1>00000000", text))
    assert done.returncode
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert found == {"setuptools-1.0"}
    done, found = install()
    assert done.returncode == 0, done.stderr
    assert found == LOCKED | {"torch-1.0", "torchvision-1.0", "nvidia_x-1.0"}


@pytest.mark.slow
def test_another_index_has_torch_and_torchvision_and_what_they_need(install, tmp_path):
    """A torchvision that is built for another torch cannot be imported."""
    for variables in ({"TORCH_INDEX": (tmp_path / "cpu").as_uri()}, {}):  # and it stays
        done, found = install(**variables)
        assert done.returncode == 0, done.stderr
        assert found == LOCKED | {"torch-1.0+cpu", "torchvision-1.0+cpu"}
