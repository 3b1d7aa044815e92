"""Command lines of sampling: the same ones for the workflow's rules and for `matched-eval`."""

import argparse
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import InputError

# By setting: what its flag takes.
_TYPES: dict[str, Any] = {
    "per_class": int, "seed": int, "min_answers": int, "threshold": float, "bins": int,
    "min_original": int, "top_keywords": int, "max_distance": float, "min_ssim": float,
    "neighbours": int, "compare_size": int,
}  # fmt: skip


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of simulating answers."""
    _add_sets(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--assignments", type=int, default=10, help="workers per task")
    parser.add_argument(
        "--positive-rounds", type=int, default=1,
        help="how many times each original image is shown with its own class",
    )  # fmt: skip
    parser.add_argument("--compare-size", type=int, help="side to bring images to")
    parser.add_argument("--output", required=True, metavar="FILE", help="answers (.parquet, .csv)")
    parser.set_defaults(run=run_simulate)


def add_count(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of counting answers."""
    _add_sets(parser)
    parser.add_argument("--answers", required=True, metavar="FILE", help=".parquet or .csv")
    parser.add_argument(
        "--repeated", choices=["refuse", "first"], default="refuse",
        help="what becomes of a worker's second answer (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--output", required=True, metavar="FILE", help="selection frequencies")
    parser.set_defaults(run=run_count)


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of sampling a test set; settings by flag, or all of them as JSON."""
    _add_sets(parser)
    parser.add_argument("--name", required=True, help="of the new test set")
    parser.add_argument(
        "--against", nargs="*", default=[], metavar="DIR",
        help="further datasets that nothing sampled may be a near duplicate of",
    )  # fmt: skip
    for option, what in (
        ("frequencies", "what `count` wrote"),
        ("keywords", "CSV: origin, image, keyword"),
        ("blacklist", "CSV: image"),
        ("near-duplicates", "CSV: image, set, other"),
        ("previous", "provenance of an earlier version to start from"),
    ):
        parser.add_argument(f"--{option}", metavar="FILE", help=what)
    parser.add_argument("--settings", default="{}", help="settings as a JSON object")
    parser.add_argument("--strategy", choices=[strategy.value for strategy in Strategy])
    defaults = {field.name: field.default for field in fields(SamplingSettings)}
    for setting, type_ in _TYPES.items():
        known = f"default: {defaults[setting]}" if setting != "per_class" else "images per class"
        parser.add_argument(f"--{setting.replace('_', '-')}", type=type_, help=known)
    parser.add_argument("--fill-upward", action="store_true", default=None)
    parser.add_argument(
        "--class-threshold", action="append", default=[], metavar="CLASS=FREQUENCY",
        help="a threshold of one class; repeat for several",
    )  # fmt: skip
    parser.add_argument("--output", required=True, metavar="DIR", help="the new dataset's folder")
    for table in ("provenance", "excluded", "strata"):
        parser.add_argument(
            f"--{table}", metavar="FILE", help=f"default: DIR.{table}.parquet, beside the folder"
        )
    parser.set_defaults(run=run_sample)


def add_allocate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of dividing images among keywords."""
    parser.add_argument("counts", metavar="COUNTS.json", help="by class, images by keyword")
    parser.add_argument("--per-class", type=int, required=True)
    parser.add_argument("--top-keywords", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--output", required=True, metavar="FILE.json")
    parser.set_defaults(run=run_allocate)


def run_simulate(arguments: argparse.Namespace) -> None:
    """Simulate answers."""
    from matcheval.analyses.sampling.run import simulate_to_file

    simulate_to_file(
        arguments.candidates,
        arguments.original,
        arguments.output,
        seed=arguments.seed,
        assignments=arguments.assignments,
        positive_rounds=arguments.positive_rounds,
        compare_size=arguments.compare_size,
    )


def run_count(arguments: argparse.Namespace) -> None:
    """Count answers."""
    from matcheval.analyses.sampling.run import count_to_file

    count_to_file(
        arguments.answers,
        arguments.candidates,
        arguments.original,
        arguments.output,
        repeated=arguments.repeated,
    )


def run_sample(arguments: argparse.Namespace) -> None:
    """Sample a test set."""
    from matcheval.analyses.sampling.run import SamplingFiles, sample_to_files

    folder = arguments.output.rstrip("/")
    sample_to_files(
        arguments.name,
        SamplingFiles(
            arguments.candidates,
            arguments.original,
            arguments.against,
            arguments.frequencies,
            arguments.keywords,
            arguments.blacklist,
            arguments.near_duplicates,
            arguments.previous,
        ),
        read_settings(arguments),
        output=arguments.output,
        provenance=arguments.provenance or f"{folder}.provenance.parquet",
        excluded=arguments.excluded or f"{folder}.excluded.parquet",
        strata=arguments.strata or f"{folder}.strata.parquet",
    )


def run_allocate(arguments: argparse.Namespace) -> None:
    """Divide the images of every class among its keywords."""
    from matcheval.analyses.sampling.allocation import keyword_targets
    from matcheval.io.files import whole_file

    try:
        counts = json.loads(Path(arguments.counts).read_text(encoding="utf-8"))
        targets = {
            name: keyword_targets(
                {keyword: int(n) for keyword, n in of.items()},
                arguments.per_class,
                arguments.top_keywords,
            )
            for name, of in counts.items()
        }
    except InputError:
        raise
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"not readable as JSON of images by class and keyword ({error})", file=arguments.counts
        ) from error
    with whole_file(arguments.output) as partial:
        text = json.dumps(targets, indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")


def read_settings(arguments: argparse.Namespace) -> SamplingSettings:
    """Settings from `--settings` and single flags, which win.

    Raises
    ------
    InputError
        If a setting is unknown, missing or of the wrong kind.
    """
    try:
        given = dict(json.loads(arguments.settings))
    except (ValueError, TypeError) as error:
        raise InputError(f"not a JSON object ({error})", field="--settings") from error
    for setting in ("strategy", "fill_upward", *_TYPES):
        value = getattr(arguments, setting)
        if value is not None:
            given[setting] = value
    for text in arguments.class_threshold:
        name, _, value = text.rpartition("=")
        try:
            given["thresholds"] = {**given.get("thresholds", {}), name: float(value)}
        except ValueError as error:
            raise InputError(f"'{text}'", field="--class-threshold") from error
    missing = [name for name in ("strategy", "per_class") if name not in given]
    if missing:
        raise InputError(f"{' and '.join(missing)} missing", file="settings")
    if int(given["per_class"]) < 1:
        raise InputError(f"{given['per_class']} images per class", field="per_class")
    try:
        return SamplingSettings.from_mapping(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"{error}", field="settings") from error


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--candidates", required=True, metavar="DIR", help="the pool: a dataset's folder"
    )
    parser.add_argument(
        "--original", required=True, metavar="DIR", help="the set that is replicated"
    )
