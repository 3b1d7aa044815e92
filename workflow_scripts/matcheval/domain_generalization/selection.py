"""Selection of groups of hyper-parameters by the scores of their runs."""

import pandas as pd


def choose(scores: pd.DataFrame, *, per_run: bool = False) -> pd.DataFrame:
    """Choose a group of hyper-parameters for every algorithm and seed."""
    if per_run:
        ordered = scores.sort_values(["score", "group"], ascending=[False, True], kind="stable")
        chosen = ordered.drop_duplicates(["algorithm", "seed"])
    else:
        means = scores.groupby(["algorithm", "group"], sort=False)["score"].mean().reset_index()
        ordered = means.sort_values(["score", "group"], ascending=[False, True], kind="stable")
        best = ordered.drop_duplicates("algorithm")[["algorithm", "group"]]
        chosen = scores.merge(best, on=["algorithm", "group"])
    return _in_order(chosen, scores)


def defaults(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the default group of every algorithm, for every seed."""
    return _in_order(scores[scores["group"] == 0], scores)


def _in_order(chosen: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by algorithm, in the order of the scores, and by seed."""
    position = {name: i for i, name in enumerate(scores["algorithm"].unique())}
    rows = chosen[["algorithm", "seed", "group"]].assign(position=chosen["algorithm"].map(position))
    return rows.sort_values(["position", "seed"]).drop(columns="position").reset_index(drop=True)
