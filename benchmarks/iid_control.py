"""What the matching does where nothing differs: two i.i.d. halves of the known writers' digits.

    python benchmarks/iid_control.py        # after `make demo`

Each model's known set is split at random into a source (327) and an i.i.d. target (273); the
second target is as many of the new writers. All but the writers is then alike: the difference
between the two rows is theirs, and the i.i.d. row is what the sizes of the sets alone do. Means
over models and splits, one matching each, gaps with their sign; standard errors over the splits.
"""

from dataclasses import replace

import numpy as np
from common import ROOT, write_results

from matcheval.datasets.suites import Pair
from matcheval.predictions.files import read_predictions
from matcheval.predictions.records import Predictions
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import Criterion, MatchingMethod

PREDICTIONS = ROOT / "results" / "predictions"
N_SOURCE, N_TARGET, SPLITS = 327, 273, 20


def take(predictions: Predictions, rows: np.ndarray) -> Predictions:
    """Some rows of a set, in dataset order."""
    columns = ("index", "label", "prediction", "probability")
    return replace(predictions, **{c: getattr(predictions, c)[np.sort(rows)] for c in columns})


def measure(criterion: Criterion) -> list[dict]:
    """A row for either target."""
    models = sorted(path.stem for path in (PREDICTIONS / "digits-known").glob("*.parquet"))
    found: dict[str, list[list[tuple[float, ...]]]] = {"i.i.d.": [], "new writers": []}
    for split in range(SPLITS):
        rng = np.random.default_rng(split)  # the same datapoints for all models
        order, new_rows = rng.permutation(N_SOURCE + N_TARGET), rng.permutation(497)[:N_TARGET]
        of_split: dict[str, list[tuple[float, ...]]] = {name: [] for name in found}
        for model in models:
            known = read_predictions(PREDICTIONS / "digits-known" / f"{model}.parquet")
            new = read_predictions(PREDICTIONS / "digits-new-writers" / f"{model}.parquet")
            source = take(known, order[:N_SOURCE])
            targets = {"i.i.d.": take(known, order[N_SOURCE:]), "new writers": take(new, new_rows)}
            for name, target in targets.items():
                method = MatchingMethod(criterion=criterion)
                pair = Pair(f"control {name}", "known", name, source="known")
                comparison = Comparison(model, pair, source, target)
                one = MatchedModel.of(comparison, method, [split])
                run = {column: value for column, (value,) in one.measured.items()}
                of_split[name].append(
                    (
                        run["accuracy_source"] - run["accuracy_target"],
                        run["matched_accuracy_source"] - run["matched_accuracy_target"],
                        run["fraction_unmatched"],
                        run["unmatched_accuracy_target"],
                    )
                )
        for name, rows in of_split.items():
            found[name].append(rows)
    names = ("gap", "matched_gap", "unmatched", "accuracy_on_unmatched")
    result = []
    for target, splits in found.items():
        row: dict[str, object] = {"criterion": criterion.value, "target": target}
        by_split = np.nanmean(100 * np.array(splits), axis=1)
        sem = by_split.std(axis=0, ddof=1) / np.sqrt(SPLITS)
        for name, mean, error in zip(names, by_split.mean(axis=0), sem, strict=True):
            row |= {f"{name}_percent": round(mean, 2), f"{name}_sem": round(error, 2)}
        result.append(row | {"models": len(models), "splits": SPLITS})
    return result


if __name__ == "__main__":
    rows = [row for criterion in Criterion for row in measure(criterion)]
    write_results("iid_control", rows, "numpy")
