"""The structure of the library: no circles of imports, no Snakemake."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "workflow_scripts"
PACKAGE = "matcheval"


def modules():
    """The files of the library by dotted name; a package's `__init__.py` has the folder's name."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_names(path):
    """Dotted names that a file imports, also in functions, but not those for type checking only."""
    tree, names = ast.parse(path.read_text(encoding="utf-8")), set()
    for node in tree.body[:]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            tree.body.remove(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


MODULES = modules()
IMPORTED_NAMES = {module: imported_names(path) for module, path in MODULES.items()}


def module_of(name):
    """The file of the library in which an imported name is defined."""
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def folder_of(module):
    """The folder that a file lies in, as a dotted name."""
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


FOLDERS = sorted({folder_of(module) for module in MODULES})
# Pairs of files: the importing and the imported one.
IMPORTS = sorted(
    {
        (module, module_of(name))
        for module, names in IMPORTED_NAMES.items()
        for name in names
        if name.startswith(f"{PACKAGE}.") and module_of(name) != module
    }
)


def part_of(module, folder):
    """The part of a folder that a file belongs to, or None if it lies outside.

    The parts of a folder are its subfolders, each with everything below it, and its own files
    taken together. In the root of the library, every file is a part by itself, because the root
    holds both modules that all folders import and modules that import the folders.
    """
    own = folder_of(module)
    if own == folder:
        return module if folder == PACKAGE else folder
    if not own.startswith(f"{folder}."):
        return None
    return ".".join(own.split(".")[: folder.count(".") + 2])


def check_for_cycles(imports, part):
    """Fail if parts import each other, directly or through others: `part(module)` names one."""
    edges = {}
    for module, target in imports:
        one, other = part(module), part(target)
        if None not in (one, other) and one != other:
            edges.setdefault(one, {}).setdefault(other, []).append(f"{module} -> {target}")
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
        steps = [", ".join(edges[a][b]) for a, b in pairwise(cycle)]
        pytest.fail("import cycle:\n" + "\n".join(steps))


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_import_cycle(folder):
    """Between folders, and between the files of one; the library's root may import all of it."""
    check_for_cycles(IMPORTS, lambda module: part_of(module, folder))
    assert len(IMPORTS) > 300  # they are found
    inside = {m for m in MODULES if folder_of(m) == folder and m != PACKAGE}
    check_for_cycles(IMPORTS, lambda module: module if module in inside else None)


def test_no_module_imports_snakemake():
    for module, names in IMPORTED_NAMES.items():
        assert not [name for name in names if name.split(".")[0] == "snakemake"], module


def test_only_images_and_the_users_files_are_inputs_of_any_age():
    """Of a job that depends on a planned one by such inputs alone, changes are overlooked."""
    text = "\n".join(path.read_text() for path in (ROOT.parent / "rules").glob("*.smk"))
    assert set(re.findall(r"^.*ancient\(.*$", text, re.MULTILINE)) == {
        '    return [ancient(file) if Path(file).name == "images.npy" else file for file in files]',
        "    return ancient(COMMANDS.custom_weights(models) + COMMANDS.custom_code(models))",
        "        pretrained=lambda w: ancient(COMMANDS.start_weights([w.model])),",
        "            pretrained=ancient(COMMANDS.start_weights(models)),",
    }


# What of Snakemake is not for workflows: private names, its inner modules, and names set in it.
NOT_DOCUMENTED = re.compile(
    r"(?:\b|_)(?:workflow|dag|scheduler|snakemake|logger)(?:\.\w+)*\._(?!_)\w+"
    r"|^ *(?:from|import) snakemake\.(?!utils |exceptions |logging )\S+"
    r"|\bsnakemake(?:\.\w+)+ =[^=]|\bworkflow(?:\.\w+)+ =[^=]"
    r"|\b(?:register_resource|output_settings|job_rate_limiter|gc\.disable)\b"
    r"|\blogger\.(?:handlers|filters)\b|exit_gracefully",
    re.MULTILINE,
)
OF_WORKFLOW = re.compile(r"\bworkflow\.(\w+)")
# Those that rules ask for; `scheduler` is for the exception.
ASKED_FOR = {
    "basedir", "current_basedir", "configfiles", "is_main_process", "local_exec",
    "resource_settings", "scheduler",
}  # fmt: skip
THE_EXCEPTION = "workflow_scripts/sigterm.py"


def undocumented(text):
    """What a source file uses of Snakemake that is not documented."""
    return [match[0].strip() for match in NOT_DOCUMENTED.finditer(text)]


def test_only_documented_names_of_snakemake():
    home = ROOT.parent
    folders = ("rules", "workflow_scripts", "docs", "benchmarks")
    files = [home / "Snakefile", *(p for f in folders for p in sorted((home / f).rglob("*.*")))]
    texts = {
        str(file.relative_to(home)): file.read_text(encoding="utf-8")
        for file in files
        if file.name == "Snakefile" or file.suffix in (".py", ".smk")
    }
    found = {name: names for name, text in texts.items() if (names := undocumented(text))}
    assert found.pop(THE_EXCEPTION)
    assert not found
    rules = "\n".join(text for name, text in texts.items() if not name.endswith(".py"))
    assert set(OF_WORKFLOW.findall(rules)) <= ASKED_FOR
