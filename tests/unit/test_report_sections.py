"""Sections of the report that two analyses have designed themselves."""

import pandas as pd

from matcheval.accuracy_prediction.errors import ERRORS
from matcheval.accuracy_prediction.report import content
from matcheval.domain_generalization.tables import RESULTS
from matcheval.io.tables import write_table
from matcheval.report.pages import Provenance, render_report
from matcheval.report.sections import Section
from studies import ROOT


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
    page = render_report("Study s", [section], Provenance({}, "study: s\n"))
    return page.replace("\N{NO-BREAK SPACE}%", " %")


def test_errors_of_predicted_accuracies(tmp_path):
    """Of real studies, as the documentation shows them."""
    texts = dict.fromkeys(["variant", "calibrated_on", "regressor"], "")
    file = ROOT / "docs" / "accuracy" / "cifar10-shifts.csv"
    photographs = pd.read_csv(file, dtype=dict.fromkeys(texts, object)).fillna(texts)
    photographs["confidence"] = 0.9
    data = {"errors": written(ERRORS, photographs, tmp_path / "errors.parquet")}
    page = rendered("accuracy_prediction", data)
    ((_, chart, _),) = content(data, {}).variables["parts"]
    for point in (point for series in chart.series for point in series.points):
        assert f"error: {point.x:.1f}" in point.text
    of_all = photographs[(photographs["group"] == "all") & (photographs["method"] == "doc")]
    doc = of_all[(of_all["calibrated_on"] == "Syn1") & (of_all["regressor"] == "linear")].iloc[0]
    error = "{:.1f} [{:.1f}, {:.1f}]".format(
        *(100 * doc[name] for name in ("mae", "mae_sets_low", "mae_sets_high"))
    )
    first = page[page.index("<h2") : page.index("In detail")]
    assert f"{error} points, calibrated on Syn1 (46 sets)" in first
    assert "To assume the accuracy of the base errs by 18.0 [" in first
    assert "label images: 2,401 drawn at random give ±2 points" in first
    assert page.index("In detail") < page.index("Mean absolute error (points) [90 % CI]")
    assert page.lower().count("with 90 % intervals") == 2  # in the headline, and of the chart
    assert "has no prediction of" in page[page.index("In detail") :]  # rotation, of most sets


def results(**changes):
    """ERM and two algorithms, one better than it beyond chance."""
    rows = pd.DataFrame(
        {
            "algorithm": ["erm", "sd", "coral"],
            "mean": [0.60, 0.63, 0.59], "gain": [0.0, 0.03, -0.01],
            "gain_low": [0.0, 0.02, -0.03], "gain_high": [0.0, 0.04, 0.01],
            "p_holm": [float("nan"), 0.01, 0.4],
        }
    )  # fmt: skip
    same = {"block": "b", "column": "mean", "selection": "source_validation", "n_runs": 3}
    return rows.assign(confidence=0.9, **(same | changes))


def test_gains_over_erm(tmp_path):
    per_run = results(selection="source_validation_per_run", mean=[0.7, 0.8, 0.6], gain=[0, 0.1, 0])
    both = pd.concat([per_run, results()], ignore_index=True)
    data = {"results": written(RESULTS, both, tmp_path / "results.parquet")}
    page = rendered("domain_generalization", data, {"selection": "source_validation"})
    first = page[page.index("<h2") : page.index("In detail")]
    assert "ERM: 60.0 %; largest gain: SD, +3.0 [+2.0, +4.0] points" in first
    assert "1 of 2 algorithms are better than ERM beyond chance, 0 worse" in first
    assert "brackets are 90 % intervals over runs" in first
    assert "With 90 % intervals over runs" in page
    # DomainBed's rule, by every run for itself, stands before that by the mean over runs.
    assert page.index("source validation per run") < page.index(">source validation<")


def test_an_algorithm_that_is_erm_has_no_gain(tmp_path):
    same = results(same_as_erm=[False, True, True])
    data = {"results": written(RESULTS, same, tmp_path / "results.parquet")}
    page = rendered("domain_generalization", data, {"selection": "source_validation"})
    assert "largest gain" not in page
    assert page.count("= ERM") == 2
