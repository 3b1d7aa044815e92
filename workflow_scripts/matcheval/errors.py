"""The one error that a person, not a programmer, has to act on."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input, said so that its owner can mend it.

    Parameters
    ----------
    problem : str
        What is wrong, with the offending value.
    file, field : object, optional
        Where: the file, and the column or key in it.
    remedy : str, optional
        What to do about it.
    """

    def __init__(
        self, problem: str, *, file: object = None, field: object = None, remedy: str = ""
    ) -> None:
        place = [str(file)] if file is not None else []
        if field is not None:
            place.append(f"'{field}'")
        message = ": ".join([*place, problem])
        super().__init__(f"{message}. {remedy}" if remedy else message)


class Problems:
    """Errors of several inputs, gathered so that all are told and not just the first."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep an `InputError` of the block, and go on after it."""
        try:
            yield
        except InputError as error:
            self._messages.append(str(error))

    def raise_any(self) -> None:
        """Raise what was gathered as one error.

        Raises
        ------
        InputError
            If there is anything.
        """
        if self._messages:
            raise InputError("; ".join(self._messages))
