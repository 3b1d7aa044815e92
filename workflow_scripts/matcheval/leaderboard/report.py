"""The page over several results: their verdicts, and a table with all models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.io.provenance import software_versions
from matcheval.io.text_tables import counted
from matcheval.leaderboard.results import Found, changes, claims_of, judge, read_folders
from matcheval.protocol.report import sentences
from matcheval.protocol.words import subject_of, with_interval
from matcheval.report.charts import Chart, Point, Series
from matcheval.report.pages import PACKAGES, HtmlTable, Provenance, listed, render_report
from matcheval.report.sections import Content, Headline, Section

_MOST_ROWS, _MOST_SERIES = 60, 4  # of a chart


def write_leaderboard(folders: Sequence[Path], asked: str) -> str:
    """Render the page."""
    data = {"folders": list(map(str, folders))}
    section = Section("models", "Models", "matcheval.leaderboard", data=data)
    title = f"Leaderboard: {counted(len(folders), 'folder')} of results"
    return render_report(title, [section], Provenance(software_versions(*PACKAGES), asked))


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> Content:
    """Read the tables of all folders, and make headlines, a chart and tables."""
    found = read_folders([Path(folder) for folder in data["folders"]])
    table = judge(found)
    headlines = [
        Headline(
            f"{one.name}: {subject_of(one.mean)}",
            sentences(verdict),
            verdict.next_step,
        )
        for one, verdict in zip(found, claims_of(found), strict=True)
    ]
    changed = changes(found)
    tables = [_models(table), *([_changes(changed)] if len(changed) else [])]
    variables = {"chart_of_models": _chart(found, table), "boards": tables}
    return Content(tuple(headlines), variables, heading="Models")


def _chart(found: Sequence[Found], table: pd.DataFrame) -> Chart | None:
    """Show each model's accuracy on the new sets, in a row."""
    order = table.groupby("model")["accuracy"].mean().sort_values(ascending=False).index
    if not 1 < len(order) <= _MOST_ROWS or len(found) > _MOST_SERIES:
        return None
    position = {model: i for i, model in enumerate(order)}
    series = [
        Series(
            one.name,
            [
                Point(
                    100 * row["accuracy"], position[row["model"]], row["model"],
                    f"{100 * row['accuracy']:.2f} %, {one.name}",
                )
                for _, row in table[table["results"] == one.name].iterrows()
            ],
        )
        for one in found
    ]  # fmt: skip
    names = [str(model) for model in order]
    title = f"{names[0]} is most accurate, over {counted(len(found), 'pair')} on average"
    return Chart(title, "accuracy on the new set (%)", "", series, categories=names)


def _models(table: pd.DataFrame) -> HtmlTable:
    parts = table.groupby("results", sort=False)
    rows = [
        row
        for _, part in parts
        for _, row in part.sort_values("accuracy", ascending=False, kind="stable").iterrows()
    ]
    cells = {
        "Results": [row["results"] for row in rows],
        "Model": [str(row["model"]) for row in rows],
        "Accuracy, new set (%)": [f"{100 * row['accuracy']:.2f}" for row in rows],
        "Images": [f"{row['n']:,}" for row in rows],
        "Gap (points)": [with_interval(row, "gap") for row in rows],
        "Beyond chance": [row["finding"] for row in rows],
    }
    numbers = ("Accuracy, new set (%)", "Images", "Gap (points)")
    return listed("All models", cells, numbers)


def _changes(table: pd.DataFrame) -> HtmlTable:
    ends = {"low": "change_low", "high": "change_high"}
    rows = [row for _, row in table.rename(columns=ends).iterrows()]
    first = rows[0]
    cells = {
        "Pair": [row["pair"] for row in rows],
        "Model": [str(row["model"]) for row in rows],
        "Change (points)": [with_interval(row, "change") for row in rows],
        "Strength": [row["strength"] for row in rows],
    }
    caption = f"Accuracy on the new set, {first['last']} minus {first['first']}"
    return listed(caption, cells, numbers=["Change (points)"])
