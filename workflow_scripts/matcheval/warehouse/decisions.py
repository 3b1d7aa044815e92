"""What reviewers decided: read, checked, combined; how much two of them agree."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.tables import Column, TableSchema
from matcheval.io.user_files import read_csv_rows

KEEP, REJECT, RELABEL = "keep", "reject", "relabel"
REASONS = ("noise", "wrong class", "several objects", "duplicate", "unsafe", "other")
COLUMNS = ("image_id", "decision", "reason", "class", "reviewer")

AGREEMENT_SCHEMA = TableSchema(
    "agreement of reviewers",
    (
        Column("first", pa.string(), "", "a reviewer"),
        Column("second", pa.string(), "", "another reviewer"),
        Column("n", pa.int64(), "images", "images that both decided on"),
        Column("n_agreed", pa.int64(), "images", "of these, with the same decision and class"),
        Column("agreement", pa.float64(), "fraction", "n_agreed over n"),
        Column("kappa", pa.float64(), "1",
               "Cohen's kappa; null where chance alone agrees always", nullable=True),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on an image."""

    image_id: str
    decision: str
    reason: str = ""
    class_name: str = ""
    reviewer: str = ""

    @property
    def outcome(self) -> tuple[str, str]:
        """What the image becomes: decision, and corrected class."""
        return self.decision, self.class_name


# By set, by image, in the order of the files.
Decisions = Mapping[str, Mapping[str, Sequence[Decision]]]


def read_decisions(
    paths: Iterable[str], classes: Sequence[str], sets: Iterable[str]
) -> dict[str, dict[str, list[Decision]]]:
    """Read files of decisions."""
    known, problems = tuple(sets), ErrorCollector()
    found: dict[str, dict[str, list[Decision]]] = {}
    for path in paths:
        for number, row in enumerate(read_csv_rows(Path(path).expanduser(), COLUMNS), 2):
            if not row["decision"].strip():
                continue
            with problems.collected():
                one = _decision(row, classes, f"{path}, line {number}")
                name = one.image_id.rpartition("/")[0]
                if name not in known:
                    raise unknown_name_error("set", name, known, file=f"{path}, line {number}")
                before = found.setdefault(name, {}).setdefault(one.image_id, [])
                _check_against(before, one, f"{path}, line {number}")
                before.append(one)
    problems.raise_any()
    return found


def _decision(row: Mapping[str, str], classes: Sequence[str], where: str) -> Decision:
    cells = {column: row[column].strip() for column in COLUMNS}
    one = Decision(
        cells["image_id"], cells["decision"].lower(), cells["reason"].lower(), cells["class"],
        cells["reviewer"],
    )  # fmt: skip
    if one.decision not in (KEEP, REJECT, RELABEL):
        raise unknown_name_error("decision", one.decision, (KEEP, REJECT, RELABEL), file=where)
    if one.reason and one.reason not in REASONS:
        raise unknown_name_error("reason", one.reason, REASONS, file=where, field="reason")
    if one.class_name and one.class_name not in classes:
        raise unknown_name_error("class", one.class_name, classes, file=where, field="class")
    if not one.reviewer:
        raise InputError("is empty", file=where, field="reviewer")
    if one.decision == REJECT and not one.reason:
        raise InputError(
            f"'{one.image_id}' is rejected without a reason", file=where, field="reason",
            remedy=f"Give one of {', '.join(REASONS)}",
        )  # fmt: skip
    if (one.decision == RELABEL) != bool(one.class_name):
        raise InputError(
            f"'{one.image_id}': decision '{one.decision}' and corrected class "
            f"'{one.class_name}' contradict each other",
            file=where, field="class",
            remedy="A corrected class belongs to relabel, and to nothing else",
        )  # fmt: skip
    return one


def _check_against(before: Sequence[Decision], one: Decision, where: str) -> None:
    for other in before:
        if other.reviewer == one.reviewer and other.outcome != one.outcome:
            raise InputError(
                f"reviewer '{one.reviewer}' decided on '{one.image_id}' before, and differently: "
                f"{' '.join(other.outcome).strip()}, {' '.join(one.outcome).strip()}",
                file=where, remedy="Delete one of the two",
            )  # fmt: skip


def check_images(
    decisions: Mapping[str, Sequence[Decision]], given: Mapping[str, str], set_name: str
) -> None:
    """Check that a set has the images that were decided on, under another class if relabelled."""
    unknown = [image for image in decisions if image not in given]
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise InputError(
            f"set '{set_name}' has no image {', '.join(unknown[:5])}{more}", file="decisions",
            remedy="Names of images are in the worklist; they change when an image is replaced",
        )  # fmt: skip
    for image, several in decisions.items():
        for one in several:
            if one.decision == RELABEL and one.class_name == given[image]:
                raise InputError(
                    f"'{image}' is relabelled to '{one.class_name}', which is its class",
                    file="decisions", remedy="Decide 'keep'",
                )  # fmt: skip


def combine(decisions: Sequence[Decision], arbiter: str) -> Decision | None:
    """Combine the decisions on an image."""
    final = [one for one in decisions if one.reviewer == arbiter] or decisions
    return final[0] if len({one.outcome for one in final}) == 1 else None


def tabulate_agreement(decisions: Decisions, arbiter: str) -> pa.Table:
    """Count how often reviewers agree, for all pairs who decided on the same images."""
    outcomes: dict[str, dict[str, tuple[str, str]]] = {}
    for by_image in decisions.values():
        for image, several in by_image.items():
            for one in (each for each in several if each.reviewer != arbiter):
                outcomes.setdefault(one.reviewer, {})[image] = one.outcome
    rows = []
    for first, second in combinations(sorted(outcomes), 2):
        common = sorted(outcomes[first].keys() & outcomes[second].keys())
        if not common:
            continue
        pairs = [(outcomes[first][image], outcomes[second][image]) for image in common]
        agreed = sum(one == other for one, other in pairs)
        rows.append((first, second, len(pairs), agreed, agreed / len(pairs), cohen_kappa(pairs)))
    columns = list(zip(*rows, strict=True)) or [()] * len(AGREEMENT_SCHEMA.names)
    return AGREEMENT_SCHEMA.table(dict(zip(AGREEMENT_SCHEMA.names, columns, strict=True)))


def cohen_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Compute Cohen's kappa: agreement beyond chance."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts = Counter(one for one, _ in pairs)
    seconds = Counter(other for _, other in pairs)
    chance = sum(count * seconds[outcome] for outcome, count in firsts.items()) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
