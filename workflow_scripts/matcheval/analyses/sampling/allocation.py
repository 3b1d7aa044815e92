"""How many images of each stratum to sample for a class."""

import math
from collections.abc import Mapping, Sequence

from matcheval.errors import InputError


def histogram_targets(histogram: Sequence[int], total: int) -> list[int]:
    """Divide a number of images in proportion to a histogram."""
    n = sum(histogram)
    if n <= 0 or min(histogram) < 0 or total < 0:
        raise InputError(f"cannot divide {total} images by histogram {list(histogram)}")
    shares = [divmod(total * count, n) for count in histogram]
    targets = [whole for whole, _ in shares]
    order = sorted(range(len(shares)), key=lambda i: (shares[i][1], i), reverse=True)
    for i in order[: total - sum(targets)]:
        targets[i] += 1
    return targets


def keyword_targets(counts: Mapping[str, int], total: int, top: int = 50) -> dict[str, int]:
    """Divide the images of a class among its most frequent keywords."""
    leading = _leading(counts, top)
    n = sum(number for _, number in leading)
    if n <= 0 or total < 0:
        raise InputError(
            f"cannot divide {total} images among {len(counts)} keywords with {n} images"
        )
    shares = {name: total * number / n for name, number in leading}
    targets = {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: targets[name] - shares[name])
    for name in by_remainder[: total - sum(targets.values())]:
        targets[name] += 1
    return {name: number for name, number in targets.items() if number}


def proportional_targets(counts: Mapping[str, int], divisor: int, top: int) -> dict[str, int]:
    """Allocate one image per `divisor` images of the original set to each frequent keyword."""
    if divisor < 1:
        raise InputError(f"cannot allocate one image per {divisor}", remedy="Give at least 1")
    targets = {
        name: 0 if 2 * number < divisor else -(-number // divisor)
        for name, number in _leading(counts, top)
    }
    return {name: number for name, number in targets.items() if number}


def _leading(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]
