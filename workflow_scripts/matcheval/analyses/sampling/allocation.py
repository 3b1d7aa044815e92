"""How many images of each stratum to sample for a class."""

import math
from collections.abc import Mapping, Sequence

from matcheval.errors import InputError


def histogram_targets(histogram: Sequence[int], total: int) -> list[int]:
    """Divide a number of images in proportion to a histogram.

    Parameters
    ----------
    histogram : sequence of int
        Counts per bin, in ascending order of the bins; non-negative and not all 0.
    total : int
        Number of images to divide, at least 0.

    Returns
    -------
    list of int
        Number of images per bin, with sum `total`: proportional shares, rounded by the
        largest-remainder method. Of bins with equal remainders the higher one comes first.

    Raises
    ------
    InputError
        If all counts are 0, or a count or `total` is negative.
    """
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
    """Divide the images of a class among its most frequent keywords.

    Parameters
    ----------
    counts : mapping of str to int
        Number of images of the original set by keyword.
    total : int
        Number of images to divide, at least 0.
    top : int
        How many keywords receive images: the most frequent ones, ties in the order of their names.

    Returns
    -------
    dict of str to int
        Number of images by keyword, the most frequent first, with sum `total`; keywords that
        receive none are left out. Shares are proportional to the counts of these `top` keywords
        and rounded by the largest-remainder method. Remainders are compared in double precision,
        of equal ones the more frequent keyword comes first: the published allocation depends on
        it.

    Raises
    ------
    InputError
        If the counts sum to 0, or `total` is negative.

    References
    ----------
    Recht et al. (2018), arXiv 1806.00451, and its repository CIFAR-10.1: version 7.
    """
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
    """Allocate one image per `divisor` images of the original set to each frequent keyword.

    Unlike in `keyword_targets`, the total is not fixed in advance.

    Parameters
    ----------
    counts : mapping of str to int
        Number of images of the original set by keyword.
    divisor : int
        Images of the original set per allocated image, at least 1.
    top : int
        How many keywords receive images: the most frequent ones, ties in the order of their names.

    Returns
    -------
    dict of str to int
        Number of images by keyword, the most frequent first: count / `divisor`, rounded up.
        Keywords with a quotient below one half are left out.

    Raises
    ------
    InputError
        If `divisor` is below 1.

    References
    ----------
    The rule of CIFAR-10.1 version 4 (divisor 30, 25 keywords per class).
    """
    if divisor < 1:
        raise InputError(f"cannot allocate one image per {divisor}", remedy="Give at least 1")
    targets = {
        name: 0 if 2 * number < divisor else -(-number // divisor)
        for name, number in _leading(counts, top)
    }
    return {name: number for name, number in targets.items() if number}


def _leading(counts: Mapping[str, int], top: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]
