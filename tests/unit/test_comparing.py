"""Published values: reading them, looking up the computed values, and comparing both."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from matcheval.analyses import published_values
from matcheval.analyses.published_values import compare_published, format_page, read_published
from matcheval.errors import InputError
from matcheval.io.tables import MODEL, Column, TableSchema, fraction, write_table
from studies import configuration, load

HEADER = ",".join(published_values.COLUMNS) + "\n"
PUBLISHED = HEADER + (
    'mine,Table 1,a,Accuracy (%),"90.1 [88.2, 91.9]",t,model=a,acc,,\n'
    "mine,Table 1,a,Rank,1,t,model=a,rank,,Another list of models.\n"
    "mine,Table 1,b,Accuracy (%),70.0,t,model=b,acc,,\n"
    "mine,Text,all,Models,2,t,,,count,\n"
    "mine,Text,all,Largest,90.1,t,,acc,max,\n"
    "mine,Text,all,Mean,80,t,,acc,mean,\n"
    "mine,Text,all,Secret,0.7,,,,,Not released.\n"
    "other,Table 1,a,Rank,1,t,model=a,rank,,\n"
)


@pytest.fixture
def folder(tmp_path):
    rank, names = Column("rank", pa.int32(), "1", ""), ("acc", "acc_low", "acc_high")
    schema = TableSchema("t", MODEL, rank, *(fraction(name, "") for name in names))
    columns = {
        "model": ["a", "b"], "rank": [2, 1], "acc": [0.90149, 0.7006],
        # 88.3 and 91.8 when rounded to nearest, 88.2 and 91.9 when rounded outward.
        "acc_low": [0.8825001, 0.6], "acc_high": [0.91849, 0.8],
    }  # fmt: skip
    write_table(schema.table(columns), tmp_path / "t.parquet")
    (tmp_path / "published.csv").write_text(PUBLISHED)
    return tmp_path


def test_values_are_looked_up_and_rounded(folder):
    values = read_published(folder / "published.csv", "mine")
    assert published_values.compared_tables(values) == ["t"]
    table = compare_published(values, folder)
    assert list(table) == published_values.COMPARED.names
    assert table.part.tolist() == ["value", "low", "high"] + ["value"] * 6
    assert table.agrees.tolist() == [True, True, True, False, False, True, True, True, False]
    rank = table.iloc[3]
    assert (rank.computed, rank.difference) == (2, 1)
    assert table.computed.iloc[4] == pytest.approx(70.06)
    assert table.computed.isna().tolist() == [False] * 8 + [True]


def test_the_page_shows_published_and_computed_rows(folder):
    values = read_published(folder / "published.csv", "mine")
    text = format_page(compare_published(values, folder), "mine")
    assert "Of 8 printed numbers that have a counterpart in the released data, 6 agree" in text
    # Bounds that agree when rounded outward are not marked as different.
    assert "| computed | 90.1 [88.3, 91.8] | **2** |" in text
    outputs = [folder / f"out.{suffix}" for suffix in ("csv", "parquet", "md", "tex")]
    published_values.write_comparison(
        study="other", published=folder / "published.csv", folder=folder, outputs=outputs
    )
    assert pd.read_csv(outputs[0]).published.tolist() == [1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("mine,T,a,q,1,t,,c,median,", "line 2: 'statistic': unknown statistic 'median'"),
        ("mine,T,a,q,1,t,,,max,", "line 2: 'column': missing: which column of 't'"),
        # What is read, but not in the tables.
        ("mine,T,a,q,1,t,model=c,rank,,", "line 2: 'rows': 'c' does not occur in column 'model'"),
        ("mine,T,a,q,1,t,,rank,,", "2 rows of 't' for 'a'"),
    ],
)
def test_bad_rows_are_named(folder, row, message):
    (folder / "p.csv").write_text(HEADER + row + "\n")
    with pytest.raises(InputError, match=message):
        compare_published(read_published(folder / "p.csv", "mine"), folder)


def test_tables_that_the_study_does_not_write_are_named_before_any_job(tmp_path):
    """Which tables these are is known from the other analyses."""
    path = tmp_path / "p.csv"
    study = configuration("digits") | {"published_values": {"file": str(path)}}
    row = "digits,T,{0},q,1,{0},,acc,max,\n"
    tables = ("replication/new-writers/top1", "accuracies/digits-known", "replication/changes")
    path.write_text(HEADER + "".join(map(row.format, tables)))
    found = load(study).analyses["published_values"].tables
    assert found == [f"results/digits/{table}.parquet" for table in tables]
    path.write_text(HEADER + row.format("replication/new-writer/top1"))
    with pytest.raises(InputError, match=r"does not write .*Did you mean 'replication/new-writers"):
        load(study)


@pytest.mark.parametrize(
    ("computed", "printed", "shown"),
    [(np.nan, "1", "–"), (2.25, "2.2", "2.2"), (2.25, "2.3", "2.3")],
)
def test_computed_values_are_shown_with_the_printed_digits(tmp_path, computed, printed, shown):
    """Half a digit agrees with both neighbours; what is not finite cannot be compared."""
    schema = TableSchema("t", Column("x", pa.float64(), "1", ""))
    write_table(schema.table({"x": [computed]}), tmp_path / "t.parquet")
    (tmp_path / "p.csv").write_text(HEADER + f"mine,T,x,q,{printed},t,,x,,\n")
    table = compare_published(read_published(tmp_path / "p.csv", "mine"), tmp_path)
    assert f"| computed | {shown} |" in format_page(table, "mine")
    assert table.agrees.tolist() == [bool(np.isfinite(computed))]
