"""Command-line flags of the sampling settings."""

import argparse
import json
from typing import Any

from matcheval.analyses.sampling.settings import SamplingSettings, Strategy
from matcheval.errors import InputError
from matcheval.settings import read_settings as checked_settings

# Settings with a flag of their own: type of the value, and help.
_FLAGS: dict[str, tuple[Any, str]] = {
    "per_class": (int, "images per class"),
    "seed": (int, "random seed"),
    "min_annotations": (int, "annotations that a candidate needs"),
    "threshold": (float, "lowest selection frequency, for strategy threshold"),
    "bins": (int, "bins of the selection frequency, for strategy matched_frequency"),
    "min_original": (int, "annotated images that the original set needs per class"),
    "top_keywords": (int, "only the most frequent keywords of a class, for strategy keywords"),
    "max_distance": (float, "near duplicates: largest ℓ2 distance, in pixel values"),
    "min_ssim": (float, "near duplicates: smallest structural similarity"),
    "neighbours": (int, "how many nearest images --min-ssim is applied to"),
    "compare_size": (int, "resize images to squares of this side before comparing them"),
}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add `--settings`, a JSON object, and a flag for each setting."""
    parser.add_argument(
        "--settings", default="{}", help="settings as a JSON object; flags override it"
    )
    parser.add_argument("--strategy", choices=[strategy.value for strategy in Strategy])
    defaults = {name: field.default for name, field in SamplingSettings.model_fields.items()}
    for setting, (type_, what) in _FLAGS.items():
        default = defaults[setting]
        if setting != "per_class" and default is not None:
            what = f"{what} (default: {default})"
        parser.add_argument(f"--{setting.replace('_', '-')}", type=type_, help=what)
    parser.add_argument(
        "--fill-upward", action="store_true", default=None,
        help="fill short frequency bins from higher ones, for strategy matched_frequency",
    )  # fmt: skip
    parser.add_argument(
        "--class-threshold", action="append", default=[], metavar="CLASS=FREQUENCY",
        help="threshold for one class; repeat the flag for several classes",
    )  # fmt: skip


def read_settings(arguments: argparse.Namespace) -> SamplingSettings:
    """Read the settings from `--settings` and the flags of single settings."""
    try:
        given = dict(json.loads(arguments.settings))
    except (ValueError, TypeError) as error:
        raise InputError(f"not a JSON object ({error})", field="--settings") from error
    for setting in ("strategy", "fill_upward", *_FLAGS):
        value = getattr(arguments, setting)
        if value is not None:
            given[setting] = value
    for text in arguments.class_threshold:
        name, _, value = text.rpartition("=")
        try:
            given["thresholds"] = {**given.get("thresholds", {}), name: float(value)}
        except ValueError as error:
            raise InputError(
                f"'{text}' is not a class and a number",
                field="--class-threshold",
                remedy="Give CLASS=FREQUENCY, for example cat=0.6",
            ) from error
    settings: SamplingSettings = checked_settings(SamplingSettings, given, file="settings")
    return settings
