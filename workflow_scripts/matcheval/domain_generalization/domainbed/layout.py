"""Accuracies by target domain as text, laid out like the tables of DomainBed."""

import math
from collections.abc import Iterator, Sequence

import pyarrow as pa

from matcheval.domain_generalization.domainbed.selection import Rule
from matcheval.domain_generalization.domainbed.summaries import AVERAGE

_DOMAIN_WIDTH, _DATASET_WIDTH = 20, 25
_UNDEFINED = "X"
_FIRST = "ERM"  # the baseline comes first, all others by name

Cells = dict[str, tuple[float, float]]


def domainbed_tables(targets: pa.Table) -> str:
    """Lay out accuracies by target domain."""
    rows = targets.to_pylist()
    by_rule = [
        (rule, [row for row in rows if row["rule"] == rule])
        for rule in Rule
        if any(row["rule"] == rule for row in rows)
    ]
    return "\n".join(line for rule, of_rule in by_rule for line in _of_rule(rule, of_rule))


def _of_rule(rule: Rule, rows: Sequence[dict[str, object]]) -> Iterator[str]:
    cells: dict[str, dict[str, Cells]] = {}
    for row in rows:
        of_algorithm = cells.setdefault(str(row["dataset"]), {}).setdefault(
            str(row["algorithm"]), {}
        )
        of_algorithm[str(row["target"])] = (float(str(row["accuracy"])),
                                            float(str(row["standard_error"])))  # fmt: skip
    for dataset in sorted(cells):
        yield f"-------- Dataset: {dataset}, model selection method: {rule.description}"
        yield from _domains(cells[dataset])
        yield ""
    yield f"-------- Averages, model selection method: {rule.description}"
    yield from _averages(cells)
    yield ""


def _domains(algorithms: dict[str, Cells]) -> Iterator[str]:
    names = [name for name in next(iter(algorithms.values())) if name != AVERAGE]
    yield _line(["Algorithm", *names, "Avg"], _DOMAIN_WIDTH)
    for algorithm in sorted(algorithms, key=_order):
        found = algorithms[algorithm]
        means = [found[name][0] for name in names]
        cells = [_cell(*found[name]) for name in names]
        yield _line([algorithm, *cells, _number(sum(means) / len(means))], _DOMAIN_WIDTH)


def _averages(cells: dict[str, dict[str, Cells]]) -> Iterator[str]:
    datasets = sorted(cells)
    yield _line(["Algorithm", *datasets, "Avg"], _DATASET_WIDTH)
    for algorithm in sorted({name for found in cells.values() for name in found}, key=_order):
        found = [
            cells[dataset].get(algorithm, {}).get(AVERAGE, (math.nan, math.nan))
            for dataset in datasets
        ]
        mean = sum(each[0] for each in found) / len(found)
        yield _line([algorithm, *(_cell(*each) for each in found), _number(mean)], _DATASET_WIDTH)


def _order(algorithm: str) -> tuple[bool, str]:
    return algorithm != _FIRST, algorithm


def _cell(mean: float, error: float) -> str:
    return _UNDEFINED if math.isnan(mean) else f"{100 * mean:.1f} +/- {100 * error:.1f}"


def _number(mean: float) -> str:
    return _UNDEFINED if math.isnan(mean) else f"{100 * mean:.1f}"


def _line(cells: Sequence[str], width: int) -> str:
    return "  ".join(cell.ljust(width) for cell in cells).rstrip()
