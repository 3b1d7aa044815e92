"""What all figures share, and figure files that depend on the figure only."""

import struct

import matplotlib as mpl
import numpy as np
import pytest

from drawings import draw, texts_of
from matcheval.errors import InputError
from matcheval.figures import style as look
from matcheval.figures.forms import heat_map
from matcheval.figures.many_models import draw_curves, draw_rows
from matcheval.figures.saving import save_figure


def small_figure():
    with look.style():
        figure = look.new_figure(2.0, 1.5)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], label="ε − é")
        axes.set(xlabel="x (%)", ylabel="cost$_$ of $\\x$")  # no formula
        look.legend_above(axes)
    return figure


def test_titles_and_notes_fit_their_figure_and_names_lose_their_middle():
    name = "a_name_" + 12 * "of_many_parts_" + "end"
    with look.style():
        figure = look.new_figure(2.0, 2.0)
        figure.add_subplot()
        look.set_title(figure, f"{name}: 286 models,\na point each")
        look.set_note(figure, "Words of a note. " * 9)
    draw(figure)
    title, note = figure.get_suptitle().split("\n"), figure.get_supxlabel()
    assert title[0].startswith("a_name")
    assert title[0].endswith("end:")
    assert title[1:] == ["286 models,", "a point each"]
    assert note.replace("\n", " ") == ("Words of a note. " * 9).strip()


def test_a_legend_with_a_title_covers_neither_it_nor_panels_and_shows_small_markers():
    with look.style():
        figure = look.new_figure(3.0, 2.0)
        for axes, label in zip(figure.subplots(1, 2), ("models", "others"), strict=True):
            axes.plot([0, 1], [0, 1], "o", markersize=0.5, alpha=0.1, label=label)
        look.set_title_and_legend(figure, "a title", ncols=2)
        look.set_note(figure, "a note")
    draw(figure)
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "a title"
    assert texts_of(legend) == ["models", "others"]
    assert {(line.get_markersize(), line.get_alpha()) for line in legend.get_lines()} == {(3, 1)}


@pytest.mark.parametrize("n", [30, 31])
def test_many_models_are_half_and_90_percent_of_them(n):
    values = np.linspace(0, 100, n)
    with look.style():
        rows, curves = look.new_figure(2, 2).subplots(1, 2)
        draw_rows(rows, {0: values, 1: np.full(n, np.nan)}, "k")
        draw_curves(curves, np.arange(2.0), np.stack([values, values], axis=1), "k")
    if n == 30:
        assert rows.lines[0].get_xdata().tolist() == values.tolist()
        assert len(curves.lines) == n
        return
    ends = [c.get_segments()[0][:, 0].tolist() for c in rows.collections]
    np.testing.assert_allclose(ends, [[5, 95], [25, 75]])
    bands = [c.get_paths()[0].vertices[:, 1] for c in curves.collections]
    np.testing.assert_allclose([(b.min(), b.max()) for b in bands], [[5, 95], [25, 75]])


@pytest.mark.parametrize("limit", [None, 2.0])
def test_a_heat_map_numbers_what_is_finite_and_names_its_axes(limit):
    values = np.array([[0.5, np.nan, -2.0], [1.0, 0.0, 2.0]])
    with look.style():
        figure = look.new_figure(3.0, 2.0)
        axes = figure.add_subplot()
        heat_map(
            axes, values, ["a", "b"], ["1", "", "3"], "points", limit=limit, number="{:.1f}".format
        )
    draw(figure)
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["0.5", "-2.0", "1.0", "0.0", "2.0"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "", "3"]
    assert axes.images[0].get_clim() == (-2, 2)
    assert figure.axes[1].get_ylabel() == "points"


@pytest.mark.parametrize("suffix", [".pdf", ".png"])
def test_files_are_valid_and_the_same_every_time(tmp_path, suffix):
    figure = small_figure()
    first, again, other = (tmp_path / "new" / f"{name}{suffix}" for name in ("a", "b", "c"))
    save_figure(figure, first)
    save_figure(figure, again)  # saving does not change the figure
    save_figure(small_figure(), other)
    assert first.read_bytes() == again.read_bytes() == other.read_bytes()
    assert {path.name for path in first.parent.iterdir()} == {f"{name}{suffix}" for name in "abc"}
    data = first.read_bytes()
    if suffix == ".png":
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", data[16:24]) == (600, 450)  # 300 dpi
    else:
        assert data.startswith(b"%PDF-")
        assert b"CreationDate" not in data
        assert b"/Type3" not in data
        assert b"/FontFile2" in data  # TrueType, embedded


def test_the_users_settings_change_nothing_and_the_log_is_left_alone(tmp_path, caplog):
    caplog.set_level("INFO")
    before = dict(mpl.rcParams)
    save_figure(small_figure(), tmp_path / "a.pdf", tmp_path / "a.png")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 10}):
        save_figure(small_figure(), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert not caplog.records
    assert dict(mpl.rcParams) == before


def test_other_formats_are_errors(tmp_path):
    with pytest.raises(InputError, match=r"\.jpg.*Use \.pdf, \.png or \.svg"):
        save_figure(small_figure(), tmp_path / "a.jpg")
    assert not list(tmp_path.iterdir())
