"""What several folders of results hold of gaps: those of studies, or of `compare --output`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from matcheval.errors import InputError
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.verdicts import Verdict, clear_models, verdicts, with_accuracies
from matcheval.statistics.claims import Evidence, Strength
from matcheval.statistics.intervals import LEVEL, normal_factor
from matcheval.statistics.significance import difference_error

REMEDY = "Give results folders of studies (results/<study>), or what `compare --output` wrote"


@dataclass(frozen=True, eq=False)
class Found:
    """A pair of a folder: its row of mean gaps, and those of models with their accuracies."""

    folder: str
    mean: "pd.Series[Any]"
    models: pd.DataFrame

    @property
    def name(self) -> str:
        """What readers call it."""
        return f"{self.folder}, {self.mean['pair']}"


def read_folder(folder: Path) -> list[Found]:
    """Read the pairs of a folder, by the first matching of each."""
    paths = sorted((folder / "gaps").glob("*.parquet"))
    if not paths:
        raise InputError("has no tables of gaps", file=folder, remedy=REMEDY)
    found = []
    for path in paths:
        mean = MEAN_GAPS.read(path).to_pandas().iloc[0]
        place = f"{mean['pair']}/{mean['matching']}.parquet"
        gaps, results = folder / "gaps" / place, folder / "tables" / place
        models = with_accuracies(GAPS.read(gaps).to_pandas(), MODEL_TABLE.read(results).to_pandas())
        found.append(Found(folder.resolve().name, mean, models))
    return found


def read_folders(folders: Sequence[Path]) -> list[Found]:
    """Read all pairs of all folders, whose names must differ."""
    names = [folder.resolve().name for folder in folders]
    for name in names:
        if names.count(name) > 1:
            remedy = "Rename one of them: the page calls results by the names of their folders"
            raise InputError(f"two folders have the name '{name}'", remedy=remedy)
    return [one for folder in folders for one in read_folder(folder)]


def judge(found: Sequence[Found]) -> pd.DataFrame:
    """Tabulate all models on all pairs: accuracies, gaps, and what is beyond chance.

    Returns
    -------
    DataFrame
        With the columns `results`, `model`, `n`, `accuracy` (on the replication), `gap`, `gap_low`,
        `gap_high` (fractions) and `finding`: `loses`, `gains` or `cannot be told`, by Holm's
        correction over the page.
    """
    clear = clear_models({one.name: one.models for one in found}, "accuracy", LEVEL)
    words = {True: "loses", False: "gains", None: str(Strength.OPEN)}
    rows = [
        {
            "results": one.name, "model": model, "n": one.mean["n_replication"],
            "accuracy": row["accuracy_replication"],
            **{name: row[name] for name in ("gap", "gap_low", "gap_high")},
            "finding": words[clear[one.name].get(str(model))],
        }
        for one in found
        for model, row in one.models.iterrows()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def changes(found: Sequence[Found]) -> pd.DataFrame:
    """Compare accuracies on the replication between the first and the last folder with a pair.

    The error is that of independent sets: too large if both are of the same images, which is not
    known. Sets of groups are left out, whose error is not known either.

    Returns
    -------
    DataFrame
        A row per pair and model that both have, with the columns `pair`, `first`, `last`, `model`,
        `change` (last minus first), `low`, `high` and `strength`.
    """
    by_pair = dict[str, list[Found]]()
    for one in found:
        if not one.mean["n_groups"]:
            by_pair.setdefault(one.mean["pair"], []).append(one)
    rows, evidence = list[dict[str, Any]](), list[Evidence]()
    for pair, of_pair in by_pair.items():
        if len(of_pair) < 2:
            continue
        first, last = of_pair[0], of_pair[-1]
        n, n_last = (int(one.mean["n_replication"]) for one in (first, last))
        for model in first.models.index.intersection(last.models.index, sort=False):
            before, after = (
                float(one.models.loc[model, "accuracy_replication"]) for one in (first, last)
            )
            error = float(difference_error(before * n, n, after * n_last, n_last))
            half = normal_factor(LEVEL) * error
            change = Evidence(after - before, after - before - half, after - before + half, error)
            evidence.append(change)
            rows.append({
                "pair": pair, "first": first.folder, "last": last.folder, "model": model,
                "change": change.value, "low": change.low, "high": change.high,
            })  # fmt: skip
    strengths = [str(one.differs(LEVEL, len(evidence))) for one in evidence]
    return pd.DataFrame(rows).assign(strength=strengths)


def claims_of(found: Sequence[Found]) -> list[Verdict]:
    """Judge every pair of every folder, all of them together."""
    means = [pd.Series({**one.mean, "pair": one.name}) for one in found]
    return verdicts(means, {(one.name, one.mean["matching"]): one.models for one in found})
