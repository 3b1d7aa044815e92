"""`matcheval.label_plan`: how many labels a wish needs, and which datapoints to label."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from matcheval.api.few_label_results import AccuracyDifference, AccuracyEstimate
from matcheval.api.inputs import Data, Shown, check_whole, is_number, warn_each
from matcheval.api.unlabelled import (
    Unlabelled,
    aligned,
    plan_digest,
    read_unlabelled,
    sources_of,
)
from matcheval.errors import InputError, check_known
from matcheval.few_labels.answers import SKIP
from matcheval.few_labels.designs import DESIGNS, Draw, draw
from matcheval.few_labels.estimating import ENOUGH
from matcheval.few_labels.planning import (
    PLANNED_AS,
    LabelNeeds,
    labels_for_variance,
    labels_needed,
    needs_of_designs,
    needs_of_difference,
    variance_after,
)
from matcheval.figures.forms import plot_intervals
from matcheval.io.files import atomic_file, check_place
from matcheval.io.formulas import marked
from matcheval.io.json_files import write_json
from matcheval.io.text_tables import aligned as in_columns
from matcheval.predictions.layout import class_names
from matcheval.statistics.intervals import check_level, percent
from matcheval.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORKLIST, PLAN, PAGE = "worklist.csv", "plan.json", "label.html"
HALF_WIDTH = 0.05
_TABLES = ("needs", "worklist")


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
        Wish for the interval, a fraction.
    level : float
    needs : tuple of LabelNeeds
        Of each design: labels needed as planned from the confidences, cautiously, at worst.
    recommended : str
        The design with the fewest planned labels whose number is known beforehand.
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
    _sets: tuple[Unlabelled, ...] = field(repr=False)
    _texts: Mapping[int, str] = field(repr=False)
    _answers: Mapping[int, int] = field(repr=False)

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
        check_known("table", [table], _TABLES)
        if table == "needs":
            return pd.DataFrame([vars(one) for one in self.needs])
        return pd.DataFrame(self._worklist(shows_predictions=all))

    def plot(self) -> "Figure":
        """Draw the labels that each design needs: as planned, and up to the worst case.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        rows = [(one.design, one.planned, one.planned, one.worst) for one in self.needs]
        return plot_intervals(rows, "Labels, as planned and up to the worst case")

    def save(
        self,
        folder: "str | os.PathLike[str]",
        *,
        images: "str | os.PathLike[str] | None" = None,
        show_predictions: bool = False,
    ) -> list[Path]:
        """Write `worklist.csv`, `plan.json` and, with images, the page `label.html`.

        Parameters
        ----------
        folder : path-like
            Is made; may not hold a worklist yet, as labels may be in it.
        images : path-like, optional
            Folder of the image files that the predictions name; they become part of the page.
        show_predictions : bool
            Also write predicted classes and confidences, which may bias the person who labels.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            If there is a worklist, an image is missing, or a file cannot be written.
        """
        place = Path(folder)
        files = [place / WORKLIST, place / PLAN]
        if files[0].exists():
            raise InputError(
                "is there, and may hold labels", file=files[0], field="output",
                remedy="Give another folder",
            )  # fmt: skip
        check_place(files[0])
        rows = self._worklist(shows_predictions=show_predictions)
        page = None
        if images is not None:
            from matcheval.few_labels.page import labelling_page

            one = self._sets[0]
            n_classes = one.n_classes or 1 + max(int(s.given.prediction.max()) for s in self._sets)
            classes = one.layout.classes or [
                str(k + one.layout.first_label) for k in range(n_classes)
            ]
            draw_id = f"{self._digest[:16]}-{self.seed}"
            page = labelling_page(rows, classes, Path(images), draw_id)
        place.mkdir(parents=True, exist_ok=True)
        with atomic_file(files[0]) as partial, partial.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]) if rows else ["order", "index", "label"])
            writer.writeheader()
            writer.writerows(
                {k: marked(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows
            )
        write_json(
            {
                "matched-eval": __version__, "n": self.n, "level": self.level,
                "half_width": self.half_width, "digest": self._digest,
                "temperature": self._sets[0].temperature, "pilot": self.n_done,
                "draw": self._draw.to_json(),
            },
            files[1],
        )  # fmt: skip
        if page is not None:
            files.append(place / PAGE)
            with atomic_file(files[-1]) as partial:
                partial.write_text(page, encoding="utf-8")
        return files

    @property
    def _digest(self) -> str:
        return plan_digest(self._sets, self.design)

    def _worklist(self, *, shows_predictions: bool) -> list[dict[str, Any]]:
        one = self._sets[0]
        given, found = one.given, []
        for order, row in enumerate(self._draw.rows.tolist()):
            is_skipped = self._answers.get(row) == SKIP
            found.append({
                "order": order, "index": int(given.index[row]),
                "file": "" if given.keys is None else str(given.keys[row]),
                "label": self._texts.get(row, ""),
                "status": "skip" if is_skipped else "done" if row in self._texts else "",
            })  # fmt: skip
            for k, each in enumerate(self._sets if shows_predictions else (), 1):
                end = f"_{k}" if len(self._sets) > 1 else ""
                classes = class_names(one.layout, each.given.prediction[[row]])
                found[-1][f"prediction{end}"] = classes[0]
                found[-1][f"confidence{end}"] = round(float(each.f[row]), 6)
        return found

    def __str__(self) -> str:
        """Return the text that `matched-eval label-plan` prints."""
        wish = f"± {100 * self.half_width:g} points at {percent(self.level)}"
        one, cautious = len(self.names) == 1, "they are of no use"
        what = "accuracy" if one else f"difference {self.names[0]} minus {self.names[1]}"
        if not one:
            cautious = "one is always right where they differ"
        rows = [("design", "planned", "cautious", "worst case")]
        rows += [
            (need.design, f"{need.planned:,}", f"{need.cautious:,}", f"{need.worst:,}")
            for need in self.needs
        ]
        done = f", {self.n_done:,} of them labelled" if self.n_done else ""
        return "\n".join([
            f"labels needed for the {what} {wish}, of {self.n:,} datapoints", "",
            *in_columns(rows), "",
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
        Wish: half the width of the interval, a fraction; by default 0.05.
    n : int, optional
        Number of labels, in place of the planned one, which is 50 at least.
    design : str, optional
        `random`, `mixed` (strata by confidence), `proportional`, `neyman`, `active`, `lure` or,
        with two models, `disagreement`; by default the recommended one.
    level : float
        In (0, 1).
    seed : int
        Of the draw.
    pilot : AccuracyEstimate or AccuracyDifference, optional
        Estimated from the labels so far by their plan, which is extended: design and seed are its.
    base : optional
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
    ([177, 172, 168], 'mixed')
    """
    given = {"predictions": predictions, "second": second, "base": base}
    sources, layout, n_classes = sources_of(given, columns, classes, first_label)
    result = plan_from(
        sources, layout, n_classes, half_width=half_width, n=n, design=design, level=level,
        seed=seed, pilot=pilot,
    )  # fmt: skip
    warn_each(result.warnings)
    return result


def plan_from(
    sources: Mapping[str, Any], layout: Any, n_classes: int | None, *, half_width: float | None,
    n: int | None, design: str | None, level: float, seed: int,
    pilot: AccuracyEstimate | AccuracyDifference | None,
) -> LabelPlan:  # fmt: skip
    """Read predictions, compare the designs, and draw by one of them."""
    wish = HALF_WIDTH if half_width is None else half_width
    if not is_number(wish) or not 0 < wish < 0.5:
        problem = f"half_width is {wish!r:.40}"
        raise InputError(problem, remedy="Give a fraction below 0.5, such as 0.03 for ± 3 points")
    check_level(level)
    check_whole("seed", seed, 0)
    earlier = None if pilot is None else pilot._plan
    if pilot is not None and earlier is None:
        raise InputError(
            "its labels were not drawn by a plan", field="pilot",
            remedy="Estimate it with the plan that drew them",
        )  # fmt: skip
    base = sources.get("base")
    scale = None if earlier is None else earlier.temperature
    models = [sources[role] for role in ("predictions", "second") if role in sources]
    if base is not None and len(models) > 1:
        problem = "calibrates one model, and there are two"
        raise InputError(problem, field="base", remedy="Leave it out")
    bases = base if earlier is None else None
    sets = [read_unlabelled(one, layout, n_classes, bases, scale) for one in models]
    differs = None
    if len(sets) > 1:
        sets = [*aligned(sets[0], sets[1])]
        differs = sets[0].given.prediction != sets[1].given.prediction
    f, size = sets[0].f, len(sets[0].f)
    if differs is None:
        needs = needs_of_designs(f, wish, level)
        by_design = {one.design: one for one in needs}
        # Independent draws give a random number of labels, so that strata go before them.
        recommended = min(("random", "mixed"), key=lambda name: by_design[name].planned)
    else:
        needs = [needs_of_difference(f, sets[1].f, differs, wish, level)]
        recommended = "disagreement"
    if earlier is not None:
        design, seed = _design_of(earlier.draw, design), earlier.draw.seed
        earlier.check(plan_digest(sets, design))
    design = recommended if design is None else design
    check_known("design", [design], DESIGNS)
    if (design == "disagreement") != (differs is not None) and design != "random":
        raise InputError(
            f"'{design}' with the predictions of {len(sets)} model{'s' * (len(sets) > 1)}",
            field="design", remedy="Two models need disagreement or random, one another design",
        )  # fmt: skip
    frame = size if differs is None or design != "disagreement" else int(differs.sum())
    if n is None:
        n = _planned(design, needs, pilot, wish, level, frame, size)
    check_whole("n", n, 1 if frame else 0, size)
    found = draw(design, f, n, seed, differs, None if earlier is None else earlier.draw)
    answers = None if pilot is None else pilot._answers
    done = {} if answers is None else answers.by_row
    return LabelPlan(
        names=tuple(one.name for one in sets), n=size, half_width=wish, level=level,
        needs=tuple(needs), recommended=recommended, design=design, seed=seed,
        n_labels=len(found.rows), n_done=sum(row in done for row in found.rows.tolist()),
        n_needed=n,
        warnings=tuple(_warnings(design, sets, n, differs)),
        notes=tuple(dict.fromkeys(text for one in sets for text in one.notes)),
        _draw=found, _sets=tuple(sets), _texts={} if answers is None else answers.texts,
        _answers=done,
    )  # fmt: skip


def _design_of(earlier: Draw, asked: str | None) -> str:
    if asked not in (None, earlier.design):
        raise InputError(
            f"is '{asked}', but the pilot was drawn by '{earlier.design}'", field="design",
            remedy="Leave it out",
        )  # fmt: skip
    return earlier.design


def _planned(
    design: str, needs: Sequence[LabelNeeds], pilot: AccuracyEstimate | AccuracyDifference | None,
    wish: float, level: float, frame: int, size: int,
) -> int:  # fmt: skip
    """Return how many labels the worklist gets, those of a pilot among them."""
    if pilot is None or pilot._pilot is None:
        name = PLANNED_AS.get(design, design)
        planned = [one.planned for one in needs if one.design == name]
        return min(max([*planned, ENOUGH]), frame)
    found, n = pilot._pilot, pilot.n_labelled
    if design == "disagreement":
        share = frame / size
        variance = variance_after((found.se / share) ** 2, n, frame)
        needed = labels_for_variance(variance, wish / share, level, frame)
    else:
        variance = variance_after(found.se**2, n, size)
        needed = labels_needed(variance, found.estimate, wish, size, level)
    return min(max(needed, n), frame)


def _warnings(
    design: str, sets: Sequence[Unlabelled], n: int, differs: Any
) -> list[str]:  # fmt: skip
    """Return what limits a plan."""
    found = []
    if design == "neyman":
        found.append(
            "Neyman's allocation gives the most confident datapoints almost no labels, where an "
            "overconfident model hides its errors; mixed does not"
        )
    if design == "active":
        found.append("the number of labels is random: each datapoint is drawn independently")
    if differs is not None and not differs.any():
        found.append("both models predict the same classes: the difference is 0, without a label")
    if sets[0].given.groups is not None:
        found.append(
            "datapoints come in groups: labels give the accuracy on this set only, not of the "
            "population that groups were drawn from"
        )
    return found
