"""Just-in-time compilation of the few loops that NumPy cannot express."""

import logging
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

# Numba imports SciPy's linear algebra in advance, which takes as long as Numba itself, though it
# imports it again where a loop needs it.
_BLAS = "scipy.linalg.cython_blas"
_IS_NEW = sys.modules.setdefault(_BLAS, None) is None  # type: ignore[arg-type]
from numba import njit  # noqa: E402
from numba.np import arraymath  # noqa: E402

if _IS_NEW:
    del sys.modules[_BLAS]
    arraymath._HAVE_BLAS = True

LOGGER = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Decorate a function to compile it with Numba, releasing the GIL while it runs."""

    def compile_(function: F) -> F:
        try:
            return cast(F, njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:  # neither the package's folder nor the home folder is writable
            LOGGER.info(
                "no writable folder for Numba's cache: %s is compiled in every process",
                function.__name__,
            )
            return cast(F, njit(nogil=True, **options)(function))

    return compile_
