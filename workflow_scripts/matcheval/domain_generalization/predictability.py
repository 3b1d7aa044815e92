"""How label-free scores relate to accuracies on target sets, and distances to gains over ERM."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.plots import colors_and_markers, draw_line
from matcheval.accuracy_prediction.predicting import LEAVE_ONE_OUT, predict_accuracies, titles
from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.domain_generalization import tables
from matcheval.domain_generalization.plan import ERM, FRECHET, Block
from matcheval.domain_generalization.results import mean_over_runs, read_chosen_runs, tabulate_gains
from matcheval.figures import style
from matcheval.figures.forms import drawing, point_options
from matcheval.figures.saving import save_figure
from matcheval.io.text_tables import signed
from matcheval.statistics.lines import linear_correlation, rank_correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NOTE = (
    "Base: validation parts of the sources. Reference: their training parts. Each set is predicted "
    "by the line through all others; means over runs."
)
_BLOCK = tables.BLOCK_COLUMNS[1:]  # without the design: blocks of designs are not scored
_PANEL, _LINE = 2.25, 0.12  # inches: side of a panel, an algorithm in its legend
_FEW = 4  # algorithms; of more, one legend has the names, and tables the correlations


def scores_of_runs(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add their scores to the selected runs of the algorithms that are scored."""
    # Suites that share a set score it alike.
    scores = scores.drop_duplicates(["model", "dataset", "method", "variant"])
    scores = scores.drop(columns=["seed", "accuracy", "n", "group"])
    return chosen[chosen["design"] == ""].merge(scores, on=["model", "dataset"])


def tabulate_predictability(scored: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Tabulate how well scores predict the accuracies of generalised models, beside ERM's."""
    keys = [*_BLOCK, "method", "variant"]
    rows = []
    for key, part in scored.groupby(keys, sort=False):
        per_run = pd.DataFrame(_per_run(part))
        errors = per_run.pivot_table(index="seed", columns="algorithm", values="mae")
        for name, of_name in per_run.groupby("algorithm", sort=False):
            row: dict[str, object] = {
                **dict(zip(keys, key, strict=True)), "algorithm": name, "confidence": confidence,
                "n_sets": int(of_name["n_sets"].min()), "n_runs": len(of_name),
            }  # fmt: skip
            for what, values in (
                ("spearman", of_name["spearman"]),
                ("mae", of_name["mae"]),
                ("mae_gain", (errors[name] - errors[ERM]).dropna()),
            ):
                row |= mean_over_runs(values, confidence).columns(what)
            rows.append(row)
    return pd.DataFrame(rows, columns=tables.PREDICTABILITY.names)


def _per_run(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Correlation and leave-one-out error of every run, of one method in one block."""
    for (name, seed), run in rows.groupby(["algorithm", "seed"], sort=False):
        with_score = run[np.isfinite(run["score"])]
        named = with_score.rename(columns={"seed": "run"}).assign(
            seed=0, suite="", base="", group="", subgroup="", severity=np.nan
        )
        predicted = predict_accuracies(named)
        left_out = predicted[predicted["protocol"] == LEAVE_ONE_OUT]
        yield {
            "algorithm": name, "seed": seed, "n_sets": len(with_score),
            "spearman": rank_correlations(with_score["score"], with_score["accuracy"])[0],
            "mae": float(left_out["error"].mean()),
        }  # fmt: skip


def tabulate_near_far(chosen: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Correlate the gain over ERM with the distance of a set from the sources."""
    erm = scored[(scored["algorithm"] == ERM) & (scored["method"] == FRECHET)]
    distances = erm.groupby([*_BLOCK, "dataset"])["score"].mean().rename("distance").reset_index()
    gains = tabulate_gains(chosen[chosen["design"] == ""])
    both = gains.merge(distances, on=[*_BLOCK, "dataset"])
    rows = []
    for key, part in both.groupby([*_BLOCK, "algorithm"], sort=False):
        distance, gain = part["distance"], part["gain"]
        coefficients = rank_correlations(distance, gain)
        rows.append((*key, len(part), *coefficients, linear_correlation(distance, gain)))
    return pd.DataFrame(rows, columns=tables.NEAR_FAR.names)


def draw_scores(scored: pd.DataFrame, selection: str) -> "Figure":
    """Plot label-free scores against accuracies on target sets (Sun et al. 2024, Figure 5B)."""
    rows = scored[(scored["selection"] == selection) & np.isfinite(scored["score"])]
    keys = ["block", "method", "variant", "algorithm", "dataset"]
    means = rows.groupby(keys, sort=False)[["score", "accuracy"]].mean().reset_index()
    means["title"] = titles(means)
    blocks, methods = (list(dict.fromkeys(means[name])) for name in ("block", "title"))
    algorithms = list(dict.fromkeys(means["algorithm"]))
    few = len(algorithms) <= _FEW
    height = _PANEL + few * _LINE * len(algorithms)
    size = _PANEL * max(2, len(methods)), 0.2 + height * max(1, len(blocks))
    title = "" if few else "Scores against accuracies on target sets"
    with drawing(*size, title, legend_columns=0 if few else 5) as figure:
        panels = figure.subplots(max(1, len(blocks)), max(1, len(methods)), squeeze=False)
        for row, block in zip(panels, blocks, strict=False):
            for axes, method in zip(row, methods, strict=True):
                part = means[(means["block"] == block) & (means["title"] == method)]
                _draw_panel(axes, part, algorithms, with_rank=few)
                title = f"{style.shortened(str(block), 20)}: {method}"
                if few:
                    style.legend_above(axes, title=title, title_fontsize=style.LABEL_SIZE)
                else:
                    axes.set_title(title)
                axes.set_xlabel("Score")
                axes.set_ylabel("Accuracy (%)")
    return figure


def _draw_panel(
    axes: "Axes", part: pd.DataFrame, algorithms: list[str], *, with_rank: bool
) -> None:
    looks = colors_and_markers(algorithms)
    for name, rows in part.groupby("algorithm", sort=False):
        color, marker = looks[str(name)]
        x, y = rows["score"].to_numpy(), 100 * rows["accuracy"].to_numpy()
        rank = rank_correlations(x, y)[0]
        label = tables.TITLES[str(name)] + f", ρ = {signed(rank, 2)}" * with_rank
        axes.plot(x, y, marker, color=color, label=label, **point_options(len(part), 3.0))
        draw_line(axes, x, y, color)


def compare_scores(
    *, blocks: Sequence[Block], rules: Sequence[str], confidence: float, runs: Path,
    accuracies: Path, scores: Sequence[Path], predictability: Sequence[Path],
    near_far: Sequence[Path], figure: Sequence[Path],
) -> None:  # fmt: skip
    """Write the tables of predictability and of gains by distance, and the figure of scores."""
    chosen = read_chosen_runs(blocks, runs, accuracies, rules)
    scored = scores_of_runs(chosen, pd.concat([SCORES.read(path).to_pandas() for path in scores]))
    table = tabulate_predictability(scored, confidence)
    tables.PREDICTABILITY.write(table, predictability, [_NOTE])
    tables.NEAR_FAR.write(tabulate_near_far(chosen, scored), near_far)
    save_figure(draw_scores(scored, rules[0]), *figure)
    logging.info("%d tables of scores, %d rows", len(scores), len(table))
