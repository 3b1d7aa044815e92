"""What the trainings of a plan, and inference, have written."""

import json
from collections.abc import Sequence
from itertools import product

import pandas as pd

from matcheval.domain_generalization.designs import REFUSED, TRAINED, Plan
from matcheval.domain_generalization.schemas import ACCURACIES, CURVES, PLAN, RUNS
from matcheval.errors import ErrorCollector, InputError
from matcheval.predictions.files import read_predictions
from matcheval.study.trained_models import TestedModels


def tabulate_plan(plan: Plan) -> pd.DataFrame:
    """List the runs of a plan, so that a person can read what is trained and what is not."""
    rows = []
    for sources, runs in plan.runs.items():
        users = [block.name for block in plan.blocks if block.sources == sources]
        rows += [
            {
                "sources": "+".join(sources), "purpose": ", ".join(users) or "selection",
                "algorithm": run.group.algorithm, "group": run.group.number,
                "options": json.dumps(dict(run.group.options), sort_keys=True), "seed": run.seed,
                "state": run.state, "model": run.model, "note": run.note,
            }
            for run in runs
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=PLAN.names)


def tabulate_curves(
    models: Sequence[str], histories: Sequence[str], epoch_steps: int
) -> pd.DataFrame:
    """Read the histories of trainings."""
    parts, problems = [], ErrorCollector()
    for model, file in zip(models, histories, strict=True):
        with problems.collected():
            try:
                history = pd.read_csv(file)
                parts.append(
                    pd.DataFrame(
                        {
                            "model": model,
                            "step": history["epoch"] * epoch_steps,
                            **{name: history[name] for name in CURVES.names[2:]},
                        }
                    )
                )
            except (OSError, ValueError, KeyError) as error:
                raise InputError(
                    f"not a readable history ({error})", file=file, remedy="Train the model again"
                ) from error
    problems.raise_any()
    return pd.concat(parts, ignore_index=True)[CURVES.names]


def tabulate_runs(plan: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Add the best evaluation of every training to the plan."""
    best = curves.sort_values(
        ["validation_accuracy", "step"], ascending=[False, True], kind="stable"
    ).drop_duplicates("model")
    found = best.set_index("model")
    runs = plan.assign(
        best_step=plan["model"].map(found["step"]).fillna(0).astype("int64"),
        validation_accuracy=plan["model"].map(found["validation_accuracy"]),
    )
    lacking = runs[(runs["state"] != REFUSED) & (runs["best_step"] == 0)]
    if len(lacking):
        raise InputError("has no history", file=str(lacking["model"].iloc[0]))
    return runs[RUNS.names]


def tabulate_accuracies(tested: Sequence[TestedModels], folder: str) -> pd.DataFrame:
    """Count the accuracies of the models on the sets that they are tested on."""
    rows, problems = [], ErrorCollector()
    for batch in tested:
        for model, dataset in product(batch.models, batch.datasets):
            with problems.collected():
                found = read_predictions(f"{folder}/{dataset}/{model}.parquet")
                n, right = len(found.label), int((found.label == found.prediction).sum())
                rows.append(
                    {
                        "model": model, "dataset": dataset, "n": n, "n_correct": right,
                        "accuracy": right / n,
                    }
                )  # fmt: skip
    problems.raise_any()
    return pd.DataFrame(rows, columns=ACCURACIES.names)


def counts(plan: pd.DataFrame) -> str:
    """Say how many trainings there are, for a note below the table."""
    trained = plan.loc[plan["state"] == TRAINED, "model"].nunique()
    refused = plan[plan["state"] == REFUSED].groupby("algorithm")["note"].first()
    text = f"{trained} trainings."
    for algorithm, note in refused.items():
        text += f" {algorithm} is not trained on a single set: {note}."
    return text
