"""Tables for reading: Markdown and LaTeX (booktabs), rounded as papers print them."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from matcheval.io.files import whole_file
from matcheval.io.tables import TableSchema, write_table
from matcheval.protocol.tables import to_arrow
from matcheval.statistics.scales import Scale

_ROUNDING = 1e-9  # numbers so near to a printed one are that one
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "Δ": r"$\Delta$", "−": "$-$", "ρ": r"$\rho$", "τ": r"$\tau$", "²": r"$^2$", "≤": r"$\le$",
    "|": "$|$", "×": r"$\times$", "μ": r"$\mu$", "σ": r"$\sigma$", "–": "--",
}  # fmt: skip


@dataclass(frozen=True)
class TextColumn:
    """A column of a table for reading."""

    head: str
    cells: Sequence[str]
    is_number: bool = True


def results_columns(results: pd.DataFrame) -> list[TextColumn]:
    """Columns of a replication table (`schemas.RESULTS`), accuracies in percent."""
    level = f"{100 * results['confidence'].iloc[0]:g} % CI"
    return [
        TextColumn("Original rank", [f"{r}" for r in results["original_rank"]]),
        TextColumn("Model", results["model"].tolist(), is_number=False),
        TextColumn(f"Original accuracy (%) [{level}]", _accuracies(results, "original")),
        TextColumn(f"New accuracy (%) [{level}]", _accuracies(results, "replication")),
        TextColumn("Gap", [_signed(100 * gap, 1) for gap in results["gap"]]),
        TextColumn("Of it random", _ranges(results, "random_gap")),
        TextColumn("Rest of it", _ranges(results, "rest_gap")),
        TextColumn("New rank", [f"{r}" for r in results["replication_rank"]]),
        TextColumn("Δ rank", [_signed(r, 0) for r in results["delta_rank"]]),
    ]


def fits_columns(fits: pd.DataFrame) -> list[TextColumn]:
    """Columns of a table of fits (`schemas.FITS`); intervals are rounded outward."""
    level = f"{100 * fits['confidence'].iloc[0]:g} % CI"
    scales = [Scale(scale) for scale in fits["scale"]]
    return [
        TextColumn("Fit", [scale.value for scale in scales], is_number=False),
        TextColumn(f"Slope [{level}]", _estimates(fits, "slope")),
        TextColumn(f"Offset [{level}]", _estimates(fits, "offset")),
        TextColumn("R²", [f"{r:.3f}" for r in fits["r_squared"]]),
        TextColumn("Slopes ≤ 1", [f"{100 * part:.3g} %" for part in fits["slopes_at_most_1"]]),
        TextColumn("Models", [f"{n}" for n in fits["n_models"]]),
        TextColumn("Left out", [name or "–" for name in fits["left_out"]], is_number=False),
        TextColumn("At 0 or 1", _extremes(fits), is_number=False),
        TextColumn("Resamples", [f"{n:,}" for n in fits["resamples"]]),
        TextColumn("Seed", [f"{seed}" for seed in fits["seed"]]),
    ]


def changes_columns(changes: pd.DataFrame) -> list[TextColumn]:
    """Columns of a table of average changes (`schemas.CHANGES`)."""
    return [
        TextColumn("Pair", changes["pair"].tolist(), is_number=False),
        TextColumn("Top", [f"{top}" for top in changes["top"]]),
        TextColumn("Models", [f"{n}" for n in changes["n_models"]]),
        TextColumn(
            "Mean original accuracy (%)", [f"{100 * a:.1f}" for a in changes["accuracy_original"]]
        ),
        TextColumn(
            "Mean new accuracy (%)", [f"{100 * a:.1f}" for a in changes["accuracy_replication"]]
        ),
        TextColumn("Average change", [_signed(100 * c, 1, plus=True) for c in changes["change"]]),
        TextColumn("Spread of changes", [f"{100 * s:.1f}" for s in changes["spread"]]),
        TextColumn("Range of models", [f"{100 * r:.1f}" for r in changes["range_original"]]),
        TextColumn(
            "Selection frequency",
            ["–" if math.isnan(f) else f"{f:.2f}" for f in changes["selection_frequency"]],
        ),
        TextColumn("Smallest |z|", [_signed(z, 2) for z in changes["least_z"]]),
        TextColumn("Differ", [f"{n}" for n in changes["n_significant"]]),
        TextColumn("Spearman's ρ", [_signed(r, 3) for r in changes["spearman"]]),
        TextColumn("Kendall's τ", [_signed(r, 3) for r in changes["kendall"]]),
    ]


def write_readable(
    table: pd.DataFrame,
    schema: TableSchema,
    readable: Callable[[pd.DataFrame], list[TextColumn]],
    paths: Iterable[str | os.PathLike[str]],
) -> None:
    """Write a table for machines and for reading, by the suffixes of `paths`.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns of `schema`.
    schema : TableSchema
        Of the `.parquet` and `.csv` files.
    readable : callable
        Gives the columns of the `.md` (Markdown) and `.tex` (LaTeX) files.
    paths : iterable of path-like
        Files to write, whole or not at all.

    Raises
    ------
    InputError
        If a suffix is another, or a place cannot be written to.
    """
    texts: dict[str, Callable[[Sequence[TextColumn]], str]] = {".md": markdown, ".tex": latex}
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix not in texts:
            write_table(to_arrow(table, schema), path)
            continue
        with whole_file(path) as partial:
            partial.write_text(texts[suffix](readable(table)), encoding="utf-8")


def markdown(columns: Sequence[TextColumn]) -> str:
    """Write a Markdown table."""
    lines = [
        [column.head for column in columns],
        ["--:" if column.is_number else "---" for column in columns],
        *zip(*(column.cells for column in columns), strict=True),
    ]
    return "".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |\n" for r in lines)


def latex(columns: Sequence[TextColumn]) -> str:
    """Write a LaTeX `tabular`, to be used with the package `booktabs`."""
    alignment = "".join("r" if column.is_number else "l" for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            _latex_row([column.head for column in columns]),
            r"\midrule",
            *map(_latex_row, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def outward(low: float, high: float, digits: int) -> tuple[str, str]:
    """Print bounds so that what is printed holds the interval: down below, up above.

    The intervals of fits in Recht et al. (2019) look rounded like that.
    """
    unit = 10.0**digits
    down = math.floor(low * unit + _ROUNDING) / unit
    up = math.ceil(high * unit - _ROUNDING) / unit
    return _signed(down, digits), _signed(up, digits)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"


def _ranges(results: pd.DataFrame, part: str) -> list[str]:
    """Bounds in percentage points, rounded outward; a dash where there are none."""
    bounds = 100 * results[[f"{part}_low", f"{part}_high"]].to_numpy(dtype=float)
    return [
        "–" if math.isnan(low) else f"[{', '.join(outward(low, high, 1))}]" for low, high in bounds
    ]


def _accuracies(results: pd.DataFrame, origin: str) -> list[str]:
    name = f"accuracy_{origin}"
    values = results[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float)
    return [
        f"{100 * a:.1f}" + ("" if math.isnan(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")
        for a, low, high in values
    ]


def _estimates(fits: pd.DataFrame, name: str) -> list[str]:
    values = fits[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float)
    return [f"{_signed(v, 2)} [{', '.join(outward(low, high, 2))}]" for v, low, high in values]


def _extremes(fits: pd.DataFrame) -> list[str]:
    did = {"leave_out": "left out", "clip": "clipped"}
    pairs = zip(fits["extreme"], fits["extremes"], strict=True)
    return [f"{names} ({did[treatment]})" if names else "–" for names, treatment in pairs]


def _signed(value: float, digits: int, *, plus: bool = False) -> str:
    """Write a number with a true minus sign, without a sign on zero."""
    if math.isnan(value):
        return "undefined"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return ("−" if value < 0 else "+" * plus) + text
