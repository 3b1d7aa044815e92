"""How many images of each stratum a class is to have."""

import math
from collections.abc import Mapping, Sequence

from matcheval.errors import InputError


def histogram_targets(histogram: Sequence[int], total: int) -> list[int]:
    """Divide a number of images as a histogram is.

    Parameters
    ----------
    histogram : sequence of int
        Counts by rising bin, not all 0.
    total : int
        Images to divide.

    Returns
    -------
    list of int
        Shares rounded down, and what remains by largest remainder; of equal remainders the
        higher bin comes first. Their sum is `total`.

    Raises
    ------
    InputError
        If there is nothing to go by.
    """
    n = sum(histogram)
    if n <= 0 or min(histogram) < 0 or total < 0:
        raise InputError(f"histogram {list(histogram)} divides no {total} images")
    shares = [divmod(total * count, n) for count in histogram]
    targets = [whole for whole, _ in shares]
    order = sorted(range(len(shares)), key=lambda i: (shares[i][1], i), reverse=True)
    for i in order[: total - sum(targets)]:
        targets[i] += 1
    return targets


def keyword_targets(counts: Mapping[str, int], total: int, top: int = 50) -> dict[str, int]:
    """Divide the images of a class among its most frequent keywords.

    Parameters
    ----------
    counts : mapping
        Images of the original set by keyword.
    total : int
        Images to divide.
    top : int
        How many keywords take part, the most frequent first; ties by name.

    Returns
    -------
    dict
        Images by keyword, the most frequent first, without those that get none. Shares are of
        the keywords that take part, rounded down; what remains goes by largest remainder.
        Remainders are compared in double precision, equal ones the more frequent first: the
        published allocation depends on it.

    Raises
    ------
    InputError
        If there is nothing to go by.

    References
    ----------
    Recht et al. (2018), arXiv 1806.00451, and its repository CIFAR-10.1: version 7.
    """
    leading = _leading(counts, top)
    n = sum(number for _, number in leading)
    if n <= 0 or total < 0:
        raise InputError(f"{len(counts)} keywords with {n} images divide no {total} images")
    shares = {name: total * number / n for name, number in leading}
    targets = {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: targets[name] - shares[name])
    for name in by_remainder[: total - sum(targets.values())]:
        targets[name] += 1
    return {name: number for name, number in targets.items() if number}


def proportional_targets(counts: Mapping[str, int], divisor: int, top: int) -> dict[str, int]:
    """Ask for one image per `divisor` of the original set, of every frequent keyword.

    The rule of CIFAR-10.1 version 4 (divisor 30, 25 keywords per class): rounded up, but none for
    a keyword with less than half an image. The total is not given beforehand.
    """
    targets = {
        name: 0 if 2 * number < divisor else -(-number // divisor)
        for name, number in _leading(counts, top)
    }
    return {name: number for name, number in targets.items() if number}


def _leading(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]
