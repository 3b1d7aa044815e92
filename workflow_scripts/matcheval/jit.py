"""Compiling the few loops that NumPy cannot express."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

LOGGER = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile by numba, once for all processes where a cache can be written."""

    def compile_(function: F) -> F:
        try:
            return cast(F, njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:  # neither the package's folder nor the home can be written
            LOGGER.info("no place for numba's cache: %s is compiled anew", function.__name__)
            return cast(F, njit(nogil=True, **options)(function))

    return compile_
