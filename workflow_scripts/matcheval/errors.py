"""The one error that a person, not a programmer, has to act on."""


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
