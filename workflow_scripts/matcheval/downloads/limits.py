"""When a download is given up that would otherwise not end."""

import argparse
from dataclasses import dataclass

HOURS = 24.0
LEAST_RATE = 1000.0  # bytes per second


@dataclass(frozen=True)
class Limits:
    """What ends a transfer that would otherwise not end."""

    end: float
    least_rate: float
    size: int | None = None


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that say when a download is given up."""
    parser.add_argument("--hours", type=float, default=HOURS, help="the longest it may take")
    parser.add_argument(
        "--least-rate", type=float, default=LEAST_RATE, help="bytes per second, over a minute"
    )
