"""Whether the unit tests notice small faults: mutants of the library, and which test kills each.

    .venv/bin/python benchmarks/mutants.py make [--n 150] [--seed 0]    # results/mutants.csv
    .venv/bin/python benchmarks/mutants.py run [--only 0-49]            # enters who kills each

A mutant is a statement of a function with one operator, comparison, number or condition changed. It
is kept as texts, the statement before and after, under the function's name: so the same mutants can
be run after code has moved to other files, as long as the statement is there. Each runs against the
unit tests that import the package it lies in, in a copy of the checkout, until the first failure.
Columns: what was changed, and for every commit the test that killed the mutant, `survived`, or
`gone` if no function of this name has the statement any more.
"""

import argparse
import ast
import copy
import csv
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import RESULTS, ROOT

FILE = RESULTS / "mutants.csv"
LIBRARY = "workflow_scripts/matcheval"
SECONDS = 300  # a mutant that runs longer is killed by time
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.AnnAssign, ast.Assert)


def changes(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield every statement that differs in one place."""
    for number, node in enumerate(ast.walk(statement)):
        changed = copy.deepcopy(statement)
        twin = list(ast.walk(changed))[number]
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
            twin.ops[0] = COMPARED[type(node.ops[0])]()
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATED:
            twin.op = OPERATED[type(node.op)]()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            twin.value = node.value + 1
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            twin.value = not node.value
        else:
            continue
        yield changed


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a file by name, those of classes with the class's name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in node.body if isinstance(node, ast.Module | ast.ClassDef) else ():
            if isinstance(one, ast.FunctionDef):
                yield prefix + one.name, one


def statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the simple statements of a function, and the conditions of its branches."""
    for node in ast.walk(function):
        if isinstance(node, SIMPLE):
            yield node
        elif isinstance(node, ast.If | ast.While):
            yield ast.Expr(node.test, lineno=node.test.lineno, end_lineno=node.test.end_lineno)


def make(n: int, seed: int) -> None:
    """Draw mutants, and write what they change."""
    found = []
    for path in sorted((ROOT / LIBRARY).rglob("*.py")):
        for name, function in functions(path):
            for statement in statements(function):
                before = ast.unparse(statement)
                found += [
                    {"file": str(path.relative_to(ROOT)), "function": name, "before": before,
                     "after": ast.unparse(changed)}
                    for changed in changes(statement)
                ]  # fmt: skip
    write(random.Random(seed).sample(found, n))
    print(f"{n} of {len(found)}")


def write(rows: list[dict[str, str]]) -> None:
    """Keep the mutants and what became of them."""
    names = dict.fromkeys(name for row in rows for name in row)
    with FILE.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(names))
        writer.writeheader()
        writer.writerows(rows)


def place(row: dict[str, str], root: Path) -> tuple[Path, ast.stmt] | None:
    """Find the statement of a mutant: in its file, or wherever its function is now."""
    own = root / row["file"]
    name = row["function"].rpartition(".")[2]
    for path in [own] * own.exists() + sorted((root / LIBRARY).rglob("*.py")):
        for found, function in functions(path):
            if found.rpartition(".")[2] == name:
                for statement in statements(function):
                    if ast.unparse(statement) == row["before"]:
                        return path, statement
    return None


def tests_of(path: Path, root: Path) -> list[str]:
    """Unit tests that import the package, or the file of an analysis, that a file lies in."""
    parts = path.relative_to(root / "workflow_scripts").with_suffix("").parts
    part = ".".join(parts[: 3 if parts[1] == "analyses" else 2])
    tests = sorted((root / "tests" / "unit").glob("test_*.py"))
    return [str(t) for t in tests if re.search(rf"{re.escape(part)}\b", t.read_text("utf-8"))]


def run(row: dict[str, str]) -> str:
    """Return the test that kills a mutant, `survived` or `gone`."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        ignored = shutil.ignore_patterns(".git", "results", ".venv", "data", "build", ".*_cache")
        shutil.copytree(ROOT, root, ignore=ignored)
        Path(folder, "shared").symlink_to(ROOT.parent / "shared")  # real data, where they are
        found = place(row, root)
        if found is None:
            return "gone"
        path, statement = found
        lines = path.read_text(encoding="utf-8").split("\n")
        first, last = statement.lineno - 1, statement.end_lineno
        indent = re.match(r"\s*", lines[first])[0]
        text = row["after"].replace("\n", "\n" + indent)
        if isinstance(statement, ast.Expr) and not hasattr(statement, "col_offset"):
            start, end = statement.value.col_offset, statement.value.end_col_offset
            text = lines[first][:start] + f"({text})" + lines[last - 1][end:]
            lines[first:last] = [text]
        else:
            lines[first:last] = [indent + text]
        path.write_text("\n".join(lines), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *tests_of(path, root)], cwd=root, capture_output=True, text=True,
                timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "time"
        killer = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
        return (killer[1] if killer else "error") if done.returncode else "survived"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of mutants, such as 0-49")
    given = parser.parse_args()
    if given.what == "make":
        make(given.n, given.seed)
        return
    rows = list(csv.DictReader(FILE.open(encoding="utf-8", newline="")))
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True)
    low, high = map(int, given.only.split("-")) if given.only else (0, len(rows) - 1)
    for number, row in enumerate(rows):
        if low <= number <= high and not row.get(commit.strip()):
            row[commit.strip()] = run(row)
            print(number, row["function"], row[commit.strip()], flush=True)
            write(rows)


if __name__ == "__main__":
    main()
