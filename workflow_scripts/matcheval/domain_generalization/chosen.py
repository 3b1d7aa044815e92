"""The runs that every way of selecting groups chooses, with their accuracies on all targets."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from matcheval.domain_generalization.designs import REFUSED, SAME_AS_ERM, Block, without_each
from matcheval.domain_generalization.schemas import DEFAULT, PER_RUN
from matcheval.domain_generalization.selection import choose, defaults
from matcheval.domain_generalization.settings import LEFT_OUT, ORACLE, SOURCE_VALIDATION

_Score = Callable[[Block, pd.DataFrame, pd.DataFrame, pd.DataFrame], pd.DataFrame]


def chosen_runs(
    blocks: Sequence[Block], runs: pd.DataFrame, accuracies: pd.DataFrame, rules: Sequence[str]
) -> pd.DataFrame:
    """Select groups by every rule, and give the accuracies of the selected runs."""
    known = accuracies[["model", "dataset", "n", "accuracy"]]
    parts = []
    for block in blocks:
        own = _runs_of(runs, block.sources)
        targets = pd.DataFrame({"dataset": block.targets, "column": block.columns})
        tested = own.merge(known, on="model").merge(targets, on="dataset")
        for selection, chosen in _selected(block, runs, own, known, rules):
            found = chosen.merge(tested, on=["algorithm", "seed", "group"])
            parts.append(
                found.assign(
                    design=block.design, block=block.name, n_sources=len(block.sources),
                    selection=selection, same_as_erm=found["state"] == SAME_AS_ERM,
                )
            )  # fmt: skip
    names = [
        "design", "block", "n_sources", "selection", "algorithm", "same_as_erm", "seed", "group",
        "model", "dataset", "column", "n", "accuracy",
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)[names]


def _runs_of(runs: pd.DataFrame, sources: Sequence[str]) -> pd.DataFrame:
    return runs[(runs["sources"] == "+".join(sources)) & (runs["state"] != REFUSED)]


def _selected(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame, rules: Sequence[str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield DEFAULT, defaults(own)
    for rule in rules:
        scores = _SCORES[rule](block, runs, own, known)
        if len(scores):
            yield rule, choose(scores)
            yield rule + PER_RUN, choose(scores, per_run=True)


def _source_validation(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Accuracy on the validation parts of the sources."""
    return own.assign(score=own["validation_accuracy"])


def _oracle(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Mean accuracy on the targets themselves: what no fair selection can use."""
    on_targets = known[known["dataset"].isin(block.targets)]
    means = on_targets.groupby("model")["accuracy"].mean().rename("score")
    return own.merge(means, on="model")


def _left_out(
    block: Block, runs: pd.DataFrame, own: pd.DataFrame, known: pd.DataFrame
) -> pd.DataFrame:
    """Mean over sources of the accuracy on a source of a model trained on the others."""
    parts = [
        _runs_of(runs, rest).merge(known[known["dataset"] == out], on="model")
        for out, rest in without_each(block.sources).items()
    ]
    if not parts:
        return own.iloc[:0].assign(score=[])
    keys = ["algorithm", "group", "seed"]
    means = pd.concat(parts).groupby(keys)["accuracy"].mean().rename("score")
    return own.merge(means, on=keys)


_SCORES: Mapping[str, _Score] = {
    SOURCE_VALIDATION: _source_validation,
    ORACLE: _oracle,
    LEFT_OUT: _left_out,
}
