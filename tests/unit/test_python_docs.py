"""Examples in Python of the documentation are run, and give what the pages say."""

import ast
import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from examples import run_examples

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["python.md", "questions.md"])
def test_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    number, differences = run_examples(DOCS / page)
    assert number > 8
    assert not differences, differences


def run_cells(notebook):
    """Run the code of a notebook, whose cells are plain Python; what its cells end with."""
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
    """Without a kernel: the cells have no magic, and a dozen packages more would be needed."""
    notebook = nbformat.read(DOCS / "notebooks" / "compare.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    shown = run_cells(notebook)
    figures = [one for one in shown if hasattr(one, "_repr_png_")]
    assert len(figures) == 4
    assert figures[0]._repr_png_().startswith(b"\x89PNG")
    assert [len(one) for one in shown if isinstance(one, pd.DataFrame)] == [2, 5]
    text = " ".join(capsys.readouterr().out.split())
    # What the cells between say in words.
    assert re.search(r"gap 7\.9 \[.*?\]: of it, (5\.0|4\.9) \[.*?\] goes with confidence", text)
    assert re.search(r"matched gap: [12]\.\d+ \[−.*?\], narrower by", text), text
