"""Examples in Python of the documentation are run, and give what the pages say."""

import ast
import re
from pathlib import Path

import nbformat
import pandas as pd

from examples import run_examples

DOCS = Path(__file__).parents[2] / "docs"


def test_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    number, differences = run_examples(DOCS / "python.md")
    assert number > 8
    assert not differences, differences


def run_cells(name):
    """Run a notebook, whose cells are plain Python without outputs; what the cells end with.

    There is no kernel, which would need a dozen packages more.
    """
    notebook = nbformat.read(DOCS / "notebooks" / name, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    names, shown = {"__name__": "__main__"}, []
    for number, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        tree = ast.parse(cell.source)
        ends_with = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if ends_with is not None:
            code = compile(ast.Expression(ends_with.value), f"cell {number}", "eval")
            shown.append(eval(code, names))
    return shown


def test_the_notebook_runs(capsys):
    shown = run_cells("compare.ipynb")
    figures = [one for one in shown if hasattr(one, "_repr_png_")]
    assert len(figures) == 4
    assert figures[0]._repr_png_().startswith(b"\x89PNG")
    assert [len(one) for one in shown if isinstance(one, pd.DataFrame)] == [2, 5]
    text = " ".join(capsys.readouterr().out.split())
    # What the cells between say in words.
    assert re.search(r"accuracy 81\.38 % 73\.44 % 7\.9 \[.*? by confidence (5\.0|4\.9) \[", text)
    assert re.search(r"if matched on confidence \S+ % \S+ % [12]\.\d+ \[−", text), text


def test_the_notebook_that_begins_with_a_loader_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # it writes a plan
    shown = run_cells("evaluate.ipynb")
    assert [len(one) for one in shown if isinstance(one, pd.DataFrame)] == [2]
    assert len([one for one in shown if hasattr(one, "_repr_png_")]) == 2
    text = " ".join(capsys.readouterr().out.split())
    (known,) = re.findall(r"with all labels: (\S+)", text)
    (low, high) = re.search(r"95 % interval (\S+) to (\S+) \(60 labels of 497", text).groups()
    assert float(low) <= float(known) <= float(high)
