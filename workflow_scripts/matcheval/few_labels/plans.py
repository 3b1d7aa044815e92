"""`matcheval.label_plan`: how many labels an interval needs, and which datapoints to label."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from matcheval.errors import InputError, check_known
from matcheval.few_labels import inputs, planning
from matcheval.few_labels.accuracy import AccuracyEstimate
from matcheval.few_labels.differences import AccuracyDifference
from matcheval.few_labels.draws import DESIGNS, Draw, Plan, draw
from matcheval.few_labels.inputs import SKIP
from matcheval.few_labels.methods import ENOUGH
from matcheval.few_labels.planning import LabelNeeds
from matcheval.figures.intervals import plot_intervals
from matcheval.io.files import atomic_file, check_place
from matcheval.io.formulas import marked
from matcheval.io.text_tables import aligned
from matcheval.predictions.inputs import Data, Shown, check_whole, is_number, warn_each
from matcheval.predictions.layout import class_name
from matcheval.statistics.intervals import check_level, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("worklist.csv", "plan.json")
HALF_WIDTH = 0.05


@dataclass(frozen=True, eq=False)
class LabelPlan(Shown):
    """The number of labels needed, and which datapoints to label: the result of `label_plan`.

    Attributes
    ----------
    names : tuple of str
        Of the models whose predictions were given.
    n : int
        Datapoints of the set.
    half_width : float
        Half the width that the interval is to have, a fraction.
    level : float
    needs : tuple of LabelNeeds
        Of each design: labels needed as planned from the confidences, cautiously, at worst.
    recommended : str
        The design with the fewest planned labels.
    design : str
        That the worklist is drawn by.
    seed : int
        Of the draw.
    n_labels : int
        Datapoints of the worklist, those of a pilot among them.
    n_done : int
        Of these, labelled in the pilot.
    n_needed : int
        Labels that were asked for, or are needed: of a pilot, from its estimate.
    warnings, notes : tuple of str
        What limits the plan; what was recognised.
    """

    names: tuple[str, ...]
    n: int
    half_width: float
    level: float
    needs: tuple[LabelNeeds, ...]
    recommended: str
    design: str
    seed: int
    n_labels: int
    n_done: int
    n_needed: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _draw: Draw = field(repr=False)
    _sets: tuple[inputs.UnlabelledSet, ...] = field(repr=False)
    _labels: inputs.Labels | None = field(repr=False)

    def to_pandas(self, table: str = "needs", *, all: bool = False) -> pd.DataFrame:
        """Return a table.

        Parameters
        ----------
        table : str
            `needs`: columns `design`, `planned`, `cautious`, `worst`, numbers of labels;
            `worklist`: columns `order` (from 0), `index` (row of the predictions), `file`, `label`
            and `status`, which are empty but for the labels of a pilot.
        all : bool
            Also predictions and confidences in the worklist, which may bias who labels.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            If there is no such table.
        """
        check_known("table", [table], ("needs", "worklist"))
        if table == "needs":
            return pd.DataFrame([vars(need) for need in self.needs])
        return pd.DataFrame(self._worklist(show_predictions=all))

    def plot(self) -> "Figure":
        """Draw the labels that each design needs: as planned, and up to the worst case.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        rows = [(need.design, need.planned, need.planned, need.worst) for need in self.needs]
        return plot_intervals(rows, "Labels, as planned and up to the worst case")

    def save(
        self, folder: "str | os.PathLike[str]", *, show_predictions: bool = False
    ) -> list[Path]:
        """Write `worklist.csv` and `plan.json`.

        Parameters
        ----------
        folder : path-like
            Is made; may not hold a worklist yet, as labels may be in it.
        show_predictions : bool
            Also write predicted classes and confidences, which may bias the person who labels.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            If there is a worklist, or a file cannot be written.
        """
        files = [Path(folder) / name for name in FILES]
        if files[0].exists():
            raise InputError(
                "is there, and may hold labels", file=files[0], field="output",
                remedy="Give another folder",
            )  # fmt: skip
        check_place(files[0])
        files[0].parent.mkdir(parents=True, exist_ok=True)
        rows = self._worklist(show_predictions=show_predictions)
        with atomic_file(files[0]) as partial, partial.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]) if rows else ["order", "index", "label"])
            writer.writeheader()
            writer.writerows(
                {k: marked(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows
            )
        digest = inputs.digest_of(self._sets, self.design)
        plan = Plan(self._draw, digest, self._sets[0].temperature, self.n_done)
        plan.save(files[1], n=self.n, level=self.level, half_width=self.half_width)
        return files

    def _worklist(self, *, show_predictions: bool) -> list[dict[str, Any]]:
        predictions, rows = self._sets[0].predictions, []
        labels = {} if self._labels is None else self._labels.by_row
        texts = {} if self._labels is None else self._labels.texts
        for order, row in enumerate(self._draw.rows.tolist()):
            cells: dict[str, Any] = {
                "order": order, "index": int(predictions.index[row]),
                "file": "" if predictions.keys is None else str(predictions.keys[row]),
                "label": texts.get(row, ""),
                "status": "" if row not in labels else "skip" if labels[row] == SKIP else "done",
            }  # fmt: skip
            for k, model in enumerate(self._sets if show_predictions else (), 1):
                end = f"_{k}" if len(self._sets) > 1 else ""
                label = int(model.predictions.prediction[row])
                cells[f"prediction{end}"] = class_name(model.layout, label)
                cells[f"confidence{end}"] = round(float(model.f[row]), 6)
            rows.append(cells)
        return rows

    def __str__(self) -> str:
        """Return the text that `matched-eval label-plan` prints."""
        interval = f"± {100 * self.half_width:g} points at {percent(self.level)}"
        what, cautious = "accuracy", "they are of no use"
        if len(self.names) > 1:
            what = f"difference {self.names[0]} minus {self.names[1]}"
            cautious = "one is always right where they differ"
        rows = [("design", "planned", "cautious", "worst case")]
        rows += [
            (need.design, f"{need.planned:,}", f"{need.cautious:,}", f"{need.worst:,}")
            for need in self.needs
        ]
        done = f", {self.n_done:,} of them labelled" if self.n_done else ""
        return "\n".join([
            f"labels needed for the {what} {interval}, of {self.n:,} datapoints", "",
            *aligned(rows), "",
            f"planned: if confidences are calibrated; cautious: if {cautious}.",
            f"recommended: {self.recommended}. The worklist has {self.n_labels:,} datapoints{done} "
            f"({self.design}, seed {self.seed}).",
            *([f"After the pilot, {self.n_needed:,} labels are needed."] if self.n_done else []),
            "",
        ])  # fmt: skip


def label_plan(
    predictions: Data,
    second: "Data | None" = None,
    *,
    half_width: float | None = None,
    n: int | None = None,
    design: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    pilot: AccuracyEstimate | AccuracyDifference | None = None,
    base: "Data | None" = None,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
) -> LabelPlan:
    """Plan how many labels an interval needs, and draw the datapoints to label.

    Parameters
    ----------
    predictions : path-like, table or mapping of arrays
        Predictions on all datapoints of the set, as for `compare`; labels are not needed.
    second : optional
        Those of another model on the same datapoints: plans labels for the difference.
    half_width : float, optional
        Half the width that the interval is to have, a fraction; by default 0.05.
    n : int, optional
        Number of labels, in place of the planned one, which is 50 at least.
    design : str, optional
        `random`, `mixed` (strata by confidence) or, with two models, `disagreement`; by default the
        recommended one.
    level : float
        Of the interval, in (0, 1).
    seed : int
        Of the draw.
    pilot : AccuracyEstimate or AccuracyDifference, optional
        Estimated from the labels so far by their plan, which is extended: design and seed are its.
    base : path-like, table or mapping of arrays, optional
        The model's predictions on a labelled set, with scores of all classes: calibrates the
        confidences (temperature scaling).
    columns, classes, first_label
        As for `compare`.

    Returns
    -------
    LabelPlan

    Raises
    ------
    InputError
        If the predictions are those of another plan than the pilot's, or an argument is out of
        range.

    Warns
    -----
    InputWarning
        For limits of the design.

    Examples
    --------
    >>> import matcheval as me
    >>> sure = [0.5 + 0.001 * i for i in range(500)]
    >>> plan = me.label_plan({"prediction": [0, 1] * 250, "probability": sure}, half_width=0.05)
    >>> plan.to_pandas()["planned"].tolist(), plan.design
    ([177, 172], 'mixed')
    """
    target = HALF_WIDTH if half_width is None else half_width
    if not is_number(target) or not 0 < target < 0.5:
        problem = f"half_width is {target!r:.40}"
        raise InputError(problem, remedy="Give a fraction below 0.5, such as 0.03 for ± 3 points")
    check_level(level)
    check_whole("seed", seed, 0)
    earlier = None if pilot is None else pilot._plan
    if pilot is not None and earlier is None:
        raise InputError(
            "its labels were not drawn by a plan", field="pilot",
            remedy="Estimate it with the plan that drew them",
        )  # fmt: skip
    if base is not None and second is not None:
        problem = "calibrates one model, and there are two"
        raise InputError(problem, field="base", remedy="Leave it out")
    models = {"predictions": predictions, "second": second}
    sets = inputs.read_sets(models, columns, classes, first_label, earlier, base)
    f, size, differs = sets[0].f, len(sets[0].f), None
    if len(sets) > 1:
        differs = sets[0].predictions.prediction != sets[1].predictions.prediction
        needs = [planning.needs_of_difference(f, sets[1].f, differs, target, level)]
    else:
        needs = planning.needs_of_designs(f, target, level)
    recommended = min(needs, key=lambda need: need.planned).design
    if earlier is not None:
        if design not in (None, earlier.draw.design):
            raise InputError(
                f"is '{design}', but the pilot was drawn by '{earlier.draw.design}'",
                field="design", remedy="Leave it out",
            )  # fmt: skip
        design, seed = earlier.draw.design, earlier.draw.seed
        earlier.check(inputs.digest_of(sets, design))
    design = recommended if design is None else design
    check_known("design", [design], DESIGNS)
    if (design == "disagreement") != (differs is not None) and design != "random":
        raise InputError(
            f"'{design}' with the predictions of {len(sets)} model{'s' * (len(sets) > 1)}",
            field="design", remedy="Two models need disagreement or random, one random or mixed",
        )  # fmt: skip
    frame = size if differs is None or design == "random" else int(differs.sum())
    if n is None:
        n = _n_needed(design, needs, pilot, target, level, frame, size)
    check_whole("n", n, 1 if frame else 0, size)
    drawn = draw(design, f, n, seed, differs, None if earlier is None else earlier.draw)
    labels = None if pilot is None else pilot._labels
    labelled = () if labels is None else labels.by_row
    warnings = []
    if differs is not None and not differs.any():
        warnings.append(
            "both models predict the same classes: the difference is 0, without a label"
        )
    if sets[0].predictions.groups is not None:
        warnings.append(
            "datapoints come in groups: labels give the accuracy on this set only, not of the "
            "population that groups were drawn from"
        )
    warn_each(warnings)
    return LabelPlan(
        names=tuple(model.name for model in sets), n=size, half_width=target, level=level,
        needs=tuple(needs), recommended=recommended, design=design, seed=seed,
        n_labels=len(drawn.rows), n_done=int(np.isin(drawn.rows, [*labelled]).sum()), n_needed=n,
        warnings=tuple(warnings),
        notes=tuple(dict.fromkeys(text for model in sets for text in model.notes)),
        _draw=drawn, _sets=tuple(sets), _labels=labels,
    )  # fmt: skip


def _n_needed(
    design: str, needs: Sequence[LabelNeeds], pilot: AccuracyEstimate | AccuracyDifference | None,
    half_width: float, level: float, frame: int, size: int,
) -> int:  # fmt: skip
    """Return how many labels the worklist gets, those of a pilot among them."""
    if pilot is None or pilot._pilot is None:
        planned = [need.planned for need in needs if need.design == design]
        return min(max([*planned, ENOUGH]), frame)
    estimate, n = pilot._pilot, pilot.n_labelled
    if design == "disagreement":
        share = frame / size
        variance = planning.variance_after((estimate.se / share) ** 2, n, frame)
        needed = planning.labels_for_variance(variance, half_width / share, level, frame)
    else:
        variance = planning.variance_after(estimate.se**2, n, size)
        needed = planning.labels_needed(variance, estimate.estimate, half_width, size, level)
    return min(max(needed, n), frame)
