"""The report: what it says, that it needs nothing beside it, and how it behaves in a browser."""

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from compared import models
from matcheval.accuracy_prediction.errors import ERRORS
from matcheval.domain_generalization.tables import RESULTS as DOMAIN_RESULTS
from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.io.text_tables import TextColumn, markdown
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.gaps import estimate_gaps
from matcheval.protocol.jobs import tabulate_runs
from matcheval.protocol.schemas import CALIBRATION, GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.words import with_interval
from matcheval.report.pages import (
    FigureSpace,
    HtmlTable,
    Provenance,
    read_markdown,
    render_report,
)
from matcheval.report.sections import Section, ShownFile
from matcheval.study.analysis import shown_files
from matcheval.study.rules import Artifact, ReportEntry
from studies import ROOT

NASTY = "<img src=http://evil.example/x onerror=alert(1)>"
PROVENANCE = Provenance({"matcheval": "0"}, "study: s\n")


def test_markdown_tables_are_read_as_they_were_written():
    one = [TextColumn("n", ["1"])]
    other = [TextColumn("Model", ["a|b", "c"], is_number=False), TextColumn("n", ["1", "2"])]
    text = (
        f"<!-- Written. -->\n\n# All\n\n**First**\n\n{markdown(one)}\n- A note.\n\n"
        f"**Bold.** Not a head.\n\n**Second**\n\n{markdown(other)}"
    )
    assert read_markdown(text, "f.md") == [
        HtmlTable("", (), "f.md", ("All",)),
        HtmlTable("First", tuple(one), "f.md", ("- A note.", "**Bold.** Not a head.")),
        HtmlTable("Second", tuple(other), "f.md", ()),
    ]


class TestFigures:
    @pytest.fixture
    def png(self, tmp_path):
        path = tmp_path / "f.png"
        Image.new("RGB", (200, 100), "red").save(path)
        return str(path)

    def test_what_does_not_fit_is_missing_or_cannot_be_shown_is_named(self, png):
        space = FigureSpace(left=10)
        assert not space.embed(ShownFile((png,), "t"), "").source
        assert not FigureSpace().embed(ShownFile(("f.pdf",), "t"), "").source
        assert space.left_out == [png]
        with pytest.raises(InputError, match=r"gone\.png: no such file"):
            FigureSpace().embed(ShownFile(("gone.png",), "t"), "")


def test_files_of_an_analysis_are_found_by_its_artifacts():
    entry = ReportEntry("Tables", "cap", {"table": "own", "of": "{pair}", "top": "top {top}"})
    analysis = SimpleNamespace(
        name="own", title=lambda: "Own", shown_wildcards=lambda found: found | {"top": "one"},
        one=Artifact("r/{pair}/t{top}", (".csv", ".md"), entry),
        hidden=Artifact("r/{pair}/hidden", (".md",), entry),
        targets=["r/p/t1.csv", "r/p/t1.md", "r/p/hidden.md"],
        added=["r/other.pdf", "r/other.png"],
    )  # fmt: skip
    assert shown_files(analysis, [analysis.hidden]) == (
        ShownFile(("r/p/t1.md",), "Tables, p, top one", "cap", {"pair": "p", "top": "one"}),
        ShownFile(("r/other.pdf", "r/other.png"), "other"),
    )


# --- the page of a study


@pytest.fixture(scope="module")
def estimated():
    known, tables = models(seeds=2), {}
    for name, method in known.methods.items():
        matched = [MatchedModel.of(one, method, known.seeds) for one in known.comparisons]
        tables[name] = tabulate_runs([one.runs() for one in matched])
    return estimate_gaps(known), tables


def gap_section(estimated, folder, *, pairs=("p",), names=("m0", "m1")):
    """The section of a study whose models are those of `estimated`, in turn, under other names."""
    gaps, tables = estimated
    data = {"means": [], "calibration": [], "tables": [], "gaps": []}
    places = [[pair, matching] for pair in pairs for matching in tables]

    def write(kind, schema, table, path):
        write_table(schema.from_frame(table), folder / path)
        data[kind].append(str(folder / path))

    for pair in pairs:
        write("means", MEAN_GAPS, gaps.means.assign(pair=pair), f"{pair}.parquet")
        write("calibration", CALIBRATION, gaps.calibration, f"{pair}-calibration.parquet")
        for matching, table in tables.items():
            both = [
                frame.sort_values("model").iloc[np.arange(len(names)) % 2]
                for frame in (table, gaps.models[matching])
            ]
            own = {"model": names, "pair": pair}
            accuracies = both[0].assign(**own, accuracy_original=0.6 + np.arange(len(names)) / 1000)
            write("tables", MODEL_TABLE, accuracies, f"{pair}-{matching}.tables.parquet")
            write("gaps", GAPS, both[1].assign(**own), f"{pair}-{matching}.gaps.parquet")
    titles = {"label_probability": "criterion 1", "probability": "criterion 2"}
    values = {"titles": titles, "places": places, "margin": 0.01, "confidence": 0.95}
    return Section("matching", "Gaps", "matcheval.protocol", (), data, values, {"seeds": 2})


def page_of(*args, **kwargs):
    return render_report("Study s", [gap_section(*args, **kwargs)], PROVENANCE)


def test_it_begins_with_the_verdict_and_folds_the_rest(estimated, tmp_path):
    page = page_of(estimated, tmp_path)
    mean = estimated[0].means.iloc[0]
    first = page[page.index("<h2") : page.index(">Models<")]
    assert "old (original, 400 images) → new (replication, 250 images), 2 models" in first
    assert f"{with_interval(mean, 'matched_gap')} points" in first  # of the chart
    assert "<strong>Next:</strong>" in first


def test_names_cannot_become_markup_and_nothing_is_loaded(estimated, tmp_path):
    page = page_of(estimated, tmp_path, names=(NASTY, "m1"))
    assert "<img src=http" not in page
    assert "default-src 'none'" in page
    without_names = page.replace("http://evil.example", "")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", without_names)


# --- sections that other analyses have designed themselves


def written(schema, table, path):
    """The table on file, with what is not given undefined."""
    undefined = {"string": "", "bool": False, "int64": 0}
    columns = {
        c.name: table[c.name]
        if c.name in table
        else [undefined.get(str(c.type), float("nan"))] * len(table)
        for c in schema.columns
    }
    write_table(schema.table({name: list(values) for name, values in columns.items()}), path)
    return [str(path)]


def rendered(name, data, values=None):
    section = Section(name, name.title(), f"matcheval.{name}", data=data, values=values or {})
    page = render_report("Study s", [section], PROVENANCE)
    return page.replace("\N{NO-BREAK SPACE}%", " %")


def test_errors_of_predicted_accuracies(tmp_path):
    """Of real studies, as the documentation shows them."""
    texts = dict.fromkeys(["variant", "calibrated_on", "regressor"], "")
    file = ROOT / "docs" / "accuracy" / "cifar10-shifts.csv"
    photographs = pd.read_csv(file, dtype=dict.fromkeys(texts, object)).fillna(texts)
    photographs["confidence"] = 0.9
    data = {"errors": written(ERRORS, photographs, tmp_path / "errors.parquet")}
    page = rendered("accuracy_prediction", data)
    of_all = photographs[(photographs["group"] == "all") & (photographs["method"] == "doc")]
    doc = of_all[(of_all["calibrated_on"] == "Syn1") & (of_all["regressor"] == "linear")].iloc[0]
    error = "{:.1f} [{:.1f}, {:.1f}]".format(
        *(100 * doc[name] for name in ("mae", "mae_sets_low", "mae_sets_high"))
    )
    first, _, rest = page[page.index("<h2") :].partition("In detail")
    assert f"{error} points, calibrated on Syn1 (46 sets)" in first
    assert "has no prediction of" in rest  # rotation, of most sets


def test_gains_over_erm(tmp_path):
    """ERM and two algorithms, one better than it beyond chance."""
    rows = pd.DataFrame(
        {
            "algorithm": ["erm", "sd", "coral"],
            "mean": [0.60, 0.63, 0.59], "gain": [0.0, 0.03, -0.01],
            "gain_low": [0.0, 0.02, -0.03], "gain_high": [0.0, 0.04, 0.01],
            "p_holm": [float("nan"), 0.01, 0.4],
        }
    )  # fmt: skip
    rows = rows.assign(
        confidence=0.9, block="b", column="mean", selection="source_validation", n_runs=3
    )
    data = {"results": written(DOMAIN_RESULTS, rows, tmp_path / "results.parquet")}
    page = rendered("domain_generalization", data, {"selection": "source_validation"})
    first = page[page.index("<h2") : page.index("In detail")]
    assert "ERM: 60.0 %; largest gain: SD, +3.0 [+2.0, +4.0] points" in first
    assert "1 of 2 algorithms are better than ERM beyond chance, 0 worse" in first
    assert "90 % intervals over runs" in first


# --- in a browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install '.[browser]'"
    )
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt install chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def test_sorting_search_and_hover(browser, estimated, tmp_path):
    path = tmp_path / "report.html"
    names = [f"m{i}" for i in range(12)]
    path.write_text(page_of(estimated, tmp_path, names=names), encoding="utf-8")
    page, events = browser.new_page(viewport={"width": 1200, "height": 900}), []
    page.on("console", lambda message: events.append(message.text))
    page.on("pageerror", lambda error: events.append(str(error)))
    page.on("request", lambda request: events.append(request.url))
    page.goto(path.as_uri(), timeout=120_000)  # on a machine that is busy

    def column(n):
        rows = page.locator("#matching tbody tr:visible")
        return [text.strip() for text in rows.locator(f"td:nth-child({n})").all_inner_texts()]

    head = page.get_by_role("button", name="Accuracy, original (%)")
    head.click()
    ascending = [float(text) for text in column(2)]
    assert ascending == sorted(ascending)
    head.press("Enter")  # by keyboard, the other way round
    assert column(1) == [f"m{i}" for i in range(11, -1, -1)]
    page.get_by_label("Search").first.fill("M1")
    assert column(1) == ["m11", "m10", "m1"]
    chart = page.locator(".drawing.wide > svg").nth(2)
    chart.locator("use[data-name=m7]").first.hover(force=True)
    assert page.locator("#tip").inner_text().startswith("m7\noriginal: 60.70 %")
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#told").inner_text().startswith("m")
    assert events == [path.as_uri()]
