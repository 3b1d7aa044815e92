"""What the figures of tables show: units, names, counts, and the table's own values."""

import numpy as np
import pandas as pd
import pytest

import plot_confidence as confidence_door
import plot_matched_accuracy as matched_accuracy_door
from drawings import PAIR, draw, lines_of, texts_of
from matcheval.errors import InputError
from matcheval.figures.confidence import plot_confidence
from matcheval.figures.matched_accuracy import plot_matched_accuracy
from matcheval.schemas import MODEL_TABLE
from matcheval.tables import write_table
from matcheval.tabulation import to_arrow


def model_table(n_models, *, unmatched=(), n_seeds=10, seed=0):
    """A table of models in random order; those at the positions `unmatched` matched nothing."""
    rng = np.random.default_rng(seed)
    values = {name: rng.uniform(0.3, 0.9, n_models) for name in MODEL_TABLE.names}
    for name in MODEL_TABLE.names:
        if name.endswith(("_std", "_sem")):
            values[name] *= 0.01 if n_seeds > 1 else np.nan
        if "matched" in name and "fraction" not in name and "unmatched" not in name:
            values[name][list(unmatched)] = np.nan
    values["fraction_unmatched_mean"][list(unmatched)] = 1.0
    constant = {
        "pair": PAIR.name,
        "criterion": "label_probability",
        "original": PAIR.original,
        "replication": PAIR.replication,
        "source": PAIR.original,
        "epsilon": 0.005,
        "n_seeds": n_seeds,
        "n_original": 12000,
        "n_replication": 3000,
    }
    names = [f"deit_tiny_distilled_{i}.in1k" for i in range(n_models)]
    table = pd.DataFrame(values | {"model": names}).assign(**constant)[MODEL_TABLE.names]
    to_arrow(table)  # is of the schema
    return table


@pytest.mark.parametrize("n_models", [1, 20, 300])
def test_confidence_shows_every_model_on_both_sets(n_models):
    table = model_table(n_models)
    figure = plot_confidence(table)
    draw(figure)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Mean confidence (%)"
    assert axes.get_ylabel() == "Accuracy (%)"
    assert axes.get_aspect() == 1
    for origin, points in zip(("original", "replication"), axes.collections, strict=True):
        expected = 100 * table[[f"confidence_{origin}", f"accuracy_{origin}"]].to_numpy()
        np.testing.assert_allclose(points.get_offsets(), expected)
        assert (expected >= axes.get_xlim()[0]).all()
        assert (expected <= axes.get_ylim()[1]).all()
    assert texts_of(axes.get_legend()) == [
        "Known (n = 12,000)",
        "New-Writers (n = 3,000)",
        "confidence = accuracy",
    ]
    (identity,) = axes.lines
    assert list(identity.get_xdata()) == list(identity.get_ydata())
    models = "1 model," if n_models == 1 else f"{n_models} models,"
    assert models in figure.get_suptitle()


@pytest.mark.parametrize("n_models", [1, 20, 300])
def test_matched_accuracy_shows_the_table(n_models):
    table = model_table(n_models)
    figure = plot_matched_accuracy(table)
    draw(figure)
    accuracies, gaps, unmatched = figure.axes
    ranked = table.sort_values("accuracy_original", ascending=False)
    shown = [
        *zip(
            lines_of(accuracies).values(),
            ("accuracy_original", "matched_accuracy_original_mean",
             "accuracy_replication", "matched_accuracy_replication_mean"),
            strict=True,
        ),
        *zip(lines_of(gaps).values(), ("gap", "matched_gap_mean"), strict=True),
        *zip(lines_of(unmatched).values(), ("fraction_unmatched_mean",), strict=True),
    ]  # fmt: skip
    for line, column in shown:
        np.testing.assert_allclose(line.get_ydata(), 100 * ranked[column], err_msg=column)
        assert list(line.get_xdata()) == list(range(1, n_models + 1))
    assert accuracies.get_ylabel() == "Accuracy (%)"
    assert gaps.get_ylabel() == "Difference\n(percentage points)"
    assert unmatched.get_ylabel() == "Unmatched\ntargets (%)"
    assert unmatched.get_ylim()[0] == 0
    assert any(list(line.get_ydata()) == [0, 0] for line in gaps.lines)  # the zero line


def test_accuracy_is_solid_and_matched_accuracy_dotted():
    solid, dotted = [], []
    for axes in plot_matched_accuracy(model_table(5)).axes[:2]:
        for label, line in lines_of(axes).items():
            (dotted if "matched" in label else solid).append(line.get_linestyle())
    assert solid == ["-"] * 3
    assert "-" not in dotted
    assert len(dotted) == 3


def test_matched_accuracy_names_what_it_shows():
    figure = plot_matched_accuracy(model_table(4))
    title = figure.get_suptitle()
    for told in ("shift", "criterion 1", "ε = 0.005", "4 models", "10 seeds", "±1 SD"):
        assert told in title
    table = model_table(4).assign(fraction_unmatched_mean=[0.1, 0.2, 0.5, 0.3])
    accuracies, gaps, _ = plot_matched_accuracy(table).axes
    assert texts_of(accuracies.get_legend()) == [
        "Known, all (n = 12,000)",
        "Known, matched (n = 1,500 to 2,700)",
        "New-Writers, all (n = 3,000)",
        "New-Writers, matched (n = 1,500 to 2,700)",
    ]
    assert gaps.get_legend().get_title().get_text() == "Known − New-Writers"
    swapped = table.assign(source=PAIR.replication)  # the target is then the original
    (accuracies, *_) = plot_matched_accuracy(swapped).axes
    assert "Known, matched (n = 6,000 to 10,800)" in texts_of(accuracies.get_legend())


def test_models_are_named_up_to_thirty_and_numbered_beyond():
    table = model_table(30)
    ranked = table.sort_values("accuracy_original", ascending=False)["model"].tolist()
    for axes in plot_matched_accuracy(table).axes[::2]:
        assert [label.get_text() for label in axes.get_xticklabels()] == ranked
    axes = plot_matched_accuracy(model_table(31)).axes[0]
    assert axes.get_xticks().tolist() == [1, 10, 20, 30]
    assert axes.get_xlabel() == "Model, by rank in accuracy on Known"
    many = plot_matched_accuracy(model_table(300)).axes[0]
    assert many.get_xticks().tolist() == [1, 50, 100, 150, 200, 250, 300]


def test_equal_accuracies_are_ranked_by_name_and_long_names_cut():
    table = model_table(2).assign(accuracy_original=0.5, model=["z" * 50, "a" + "-" * 48 + "b"])
    axes = plot_matched_accuracy(table).axes[0]
    first, second = (label.get_text() for label in axes.get_xticklabels())
    assert first == "a" + "-" * 15 + "…" + "-" * 16 + "b"
    assert len(second) == 34


@pytest.mark.parametrize("n_models", [6, 40])
def test_models_without_a_match_leave_gaps_and_a_note(n_models):
    table = model_table(n_models).sort_values("accuracy_original", ascending=False)
    table = table.reset_index(drop=True)
    columns = [c for c in table if c.startswith("matched_")]
    table.loc[[1, 3], columns] = np.nan
    figure = plot_matched_accuracy(table)
    draw(figure)
    accuracies, gaps, unmatched = figure.axes
    for label, line in (lines_of(accuracies) | lines_of(gaps)).items():
        is_gap = np.isnan(line.get_ydata())
        assert np.flatnonzero(is_gap).tolist() == ([1, 3] if "matched" in label else [])
        if "matched" in label:  # the model between two gaps shows by its marker
            assert line.get_marker() != "None"
            assert 2 in line.get_markevery()
    assert not np.isnan(lines_of(unmatched)["fraction unmatched"].get_ydata()).any()
    note = figure.get_supxlabel().replace("\n", " ")
    assert f"2 of the {n_models} models" in note
    assert table["model"][1] in note
    assert plot_matched_accuracy(model_table(6)).get_supxlabel() == ""


def test_nothing_matched_at_all_and_one_seed():
    draw(plot_matched_accuracy(model_table(3, unmatched=(0, 1, 2))))
    figure = plot_matched_accuracy(model_table(40, n_seeds=1))
    draw(figure)
    assert "1 seed" in figure.get_suptitle()
    assert "SD" not in figure.get_suptitle()


def test_spread_over_seeds_is_one_standard_deviation():
    table = model_table(40).sort_values("accuracy_original", ascending=False)
    band = plot_matched_accuracy(table).axes[1].collections[0]
    low, high = (
        100 * (table["matched_gap_mean"] + sign * table["matched_gap_std"]) for sign in (-1, 1)
    )
    extents = band.get_paths()[0].get_extents()
    assert extents.ymin == pytest.approx(low.min())
    assert extents.ymax == pytest.approx(high.max())


@pytest.mark.parametrize("column", ["pair", "criterion", "epsilon"])
def test_mixed_tables_are_refused(column):
    table = model_table(2)
    table[column] = ["a", "b"]
    with pytest.raises(InputError, match=column):
        plot_matched_accuracy(table)


@pytest.mark.parametrize("plot", [plot_confidence, plot_matched_accuracy])
def test_empty_tables_are_refused(plot):
    with pytest.raises(InputError, match="no models"):
        plot(model_table(1).iloc[:0])


@pytest.mark.parametrize("door", [confidence_door, matched_accuracy_door])
def test_adapters_of_tables(tmp_path, door):
    write_table(to_arrow(model_table(3)), tmp_path / "table.parquet")
    outputs = [str(tmp_path / f"figure.{suffix}") for suffix in ("pdf", "png")]
    door.main(table=str(tmp_path / "table.parquet"), outputs=outputs)
    assert {path.name for path in tmp_path.iterdir()} == {
        "table.parquet",
        "figure.pdf",
        "figure.png",
    }
