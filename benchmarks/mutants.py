"""Whether the unit tests notice small faults: mutants of the library, and which test kills each.

    .venv/bin/pip install pytest-cov
    .venv/bin/python benchmarks/mutants.py cover     # which tests run which lines: 10 minutes
    .venv/bin/python benchmarks/mutants.py make [--n 150] [--seed 0]    # results/mutants.csv
    .venv/bin/python benchmarks/mutants.py run [--only 0-49]            # enters who kills each

A mutant is a statement of a function with one operator, comparison, number or condition changed. It
is kept as texts, the statement before and after, under the function's name: so the same mutants can
be run after code has moved to other files, as long as the statement is there. Each runs against the
unit tests that execute the statement, the quickest files first, in a copy of the checkout, until
the first failure; if none does, against the tests that import its package. Columns: what was
changed, and for every commit the test that killed the mutant, `survived`, or `gone` if no function
of this name has the statement any more.
"""

import argparse
import ast
import copy
import csv
import functools
import importlib
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from common import RESULTS, ROOT

FILE = RESULTS / "mutants.csv"
LIBRARY = "workflow_scripts/matcheval"
COVERAGE = ROOT / "results" / "coverage"  # large, and of no use to others
SECONDS = 300  # a mutant that runs longer is killed by time
MAX_TESTS = 40  # tests of one mutant, beyond which their whole files are run
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.AnnAssign, ast.Assert)


def mutate(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield copies of a statement, each with one operator, number or boolean changed."""
    for number, node in enumerate(ast.walk(statement)):
        changed = copy.deepcopy(statement)
        twin = list(ast.walk(changed))[number]
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            twin.ops[0] = COMPARISONS[type(node.ops[0])]()
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
            twin.op = OPERATORS[type(node.op)]()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            twin.value = node.value + 1
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            twin.value = not node.value
        else:
            continue
        yield changed


def list_functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a file with their names, methods as `Class.method`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for member in node.body if isinstance(node, ast.Module | ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef):
                yield prefix + member.name, member


def list_statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the simple statements of a function, and the conditions of its branches."""
    for node in ast.walk(function):
        if isinstance(node, SIMPLE):
            yield node
        elif isinstance(node, ast.If | ast.While):
            yield ast.Expr(node.test, lineno=node.test.lineno, end_lineno=node.test.end_lineno)


def draw_mutants(n: int, seed: int) -> None:
    """Draw `n` of all mutants of the library at random, and write them to `FILE`."""
    mutants = []
    for path in sorted((ROOT / LIBRARY).rglob("*.py")):
        for name, function in list_functions(path):
            for statement in list_statements(function):
                before = ast.unparse(statement)
                mutants += [
                    {"file": str(path.relative_to(ROOT)), "function": name, "before": before,
                     "after": ast.unparse(changed)}
                    for changed in mutate(statement)
                ]  # fmt: skip
    drawn = random.Random(seed).sample(mutants, n)
    write_mutants(drawn)
    print(f"{n} of {len(mutants)}")


def read_mutants() -> list[dict[str, str]]:
    """Read the mutants of `FILE`, with what became of each."""
    return list(csv.DictReader(FILE.open(encoding="utf-8", newline="")))


def write_mutants(rows: list[dict[str, str]]) -> None:
    """Write mutants to `FILE`, with what became of each."""
    names = dict.fromkeys(name for row in rows for name in row)
    with FILE.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(names))
        writer.writeheader()
        writer.writerows(rows)


def find_statement(row: dict[str, str], root: Path) -> tuple[Path, ast.stmt] | None:
    """Find a mutant's statement in its file, or wherever its function is now, or return None."""
    own = root / row["file"]
    name = row["function"].rpartition(".")[2]
    for path in [own] * own.exists() + sorted((root / LIBRARY).rglob("*.py")):
        for function_name, function in list_functions(path):
            if function_name.rpartition(".")[2] == name:
                for statement in list_statements(function):
                    if ast.unparse(statement) == row["before"]:
                        return path, statement
    return None


def find_tests(path: Path, statement: ast.stmt, root: Path) -> list[str]:
    """Return tests that execute a statement; if none does, files that import its package."""
    place = path.relative_to(root)
    lines = range(statement.lineno, statement.end_lineno + 1)
    tests, files = set(), Counter()
    for line in lines:
        for context in tests_by_line().get(str(place), {}).get(line, ()):
            test, _, phase = context.partition("|")
            file = test.partition("::")[0]
            tests.add(test if phase == "run" else file)  # others may share what is set up
            files[file] += 1
    if tests:
        whole = {test for test in tests if "::" not in test}
        few = {test for test in tests if test.partition("::")[0] not in whole}
        return sorted(whole | few) if len(few) <= MAX_TESTS else sorted(files)
    parts = place.relative_to("workflow_scripts").with_suffix("").parts
    part = ".".join(parts[: 3 if parts[1] == "analyses" else 2])
    every = sorted((root / "tests" / "unit").glob("test_*.py"))
    found = [t for t in every if re.search(rf"{re.escape(part)}\b", t.read_text("utf-8"))]
    return [str(test.relative_to(root)) for test in found]


@functools.cache
def tests_by_line() -> dict[str, dict[int, list[str]]]:
    """Return which tests execute each line, by file and line, from the coverage data."""
    from coverage import CoverageData

    data = CoverageData(str(COVERAGE))
    data.read()
    return {
        file[file.index(LIBRARY) :]: {
            line: [test for test in tests if test]
            for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }


def measure_coverage() -> None:
    """Run the unit tests, and write which of them execute each line."""
    settings = COVERAGE.with_name("settings.ini")  # files named `coverage.*` are removed
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        f"[run]\nsource = {ROOT / LIBRARY}\nparallel = true\ndata_file = {COVERAGE}\n"
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", "tests/unit", "-q", "-n", "2", "--dist", "loadfile",
         f"--cov-config={settings}", "--cov", "--cov-context=test", "--cov-report="],
        cwd=ROOT, check=False,
    )  # fmt: skip


def patch_source(path: Path, statement: ast.stmt, after: str) -> str:
    """Return a file's source with one statement, or condition of a branch, replaced by a text."""
    lines = path.read_text(encoding="utf-8").split("\n")
    first, last = statement.lineno - 1, statement.end_lineno
    indent = re.match(r"\s*", lines[first])[0]
    text = after.replace("\n", "\n" + indent)
    if isinstance(statement, ast.Expr) and not hasattr(statement, "col_offset"):
        start, end = statement.value.col_offset, statement.value.end_col_offset
        lines[first:last] = [lines[first][:start] + f"({text})" + lines[last - 1][end:]]
    else:
        lines[first:last] = [indent + text]
    return "\n".join(lines)


def run_tests(root: Path, tests: list[str], output: Path) -> None:
    """Run tests in this process, and end it with the exit status of pytest."""
    import pytest

    os.setpgrp()
    os.chdir(root)
    with output.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", *tests])
        sys.stdout.flush()
    os._exit(int(status))


def run_mutant(row: dict[str, str], root: Path) -> str:
    """Run a mutant's tests; return the one that fails, `survived`, `time`, `error` or `gone`."""
    found = find_statement(row, root)
    if found is None:
        return "gone"
    path, statement = found
    tests, original = find_tests(path, statement, root), path.read_bytes()
    path.write_text(patch_source(path, statement, row["after"]), encoding="utf-8")
    output = root.parent / "output"
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=run_tests, args=(root, tests, output))
    process.start()
    process.join(SECONDS)
    try:
        if process.is_alive():
            os.killpg(process.pid, 9)
            process.join()
            return "time"
    finally:
        path.write_bytes(original)
    killer = re.search(r"^(?:FAILED|ERROR) (\S+)", output.read_text(errors="replace"), re.M)
    return (killer[1] if killer else "error") if process.exitcode else "survived"


def main() -> None:
    """Read the command line, and draw or run mutants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cover", "make", "run"])
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of mutants, such as 0-49")
    arguments = parser.parse_args()
    if arguments.what == "make":
        draw_mutants(arguments.n, arguments.seed)
        return
    if arguments.what == "cover":
        measure_coverage()
        return
    # Processes that are forked from this one need not import these again.
    for module in ("matplotlib.pyplot", "pandas", "pyarrow", "pytest", "sklearn", "torch"):
        importlib.import_module(module)

    rows = read_mutants()
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True)
    low, high = map(int, arguments.only.split("-")) if arguments.only else (0, len(rows) - 1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        subprocess.run(["git", "clone", "-q", ROOT, root], check=True)
        Path(folder, "shared").symlink_to(ROOT.parent / "shared")  # real data, where they are
        for number, row in enumerate(rows):
            if low <= number <= high and not row.get(commit.strip()):
                row[commit.strip()] = run_mutant(row, root)
                print(number, row["function"], row[commit.strip()], flush=True)
                write_mutants(rows)


if __name__ == "__main__":
    main()
