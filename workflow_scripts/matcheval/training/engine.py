"""Machine settings of a training run: device, threads, memory layout, validation and saving."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass

import torch

from matcheval.errors import InputError
from matcheval.models.arithmetic import repeatable_arithmetic
from matcheval.models.devices import resolve_device


@dataclass(frozen=True)
class Engine:
    """How a training run is executed; these settings change at most the rounding of the weights.

    Attributes
    ----------
    device : str
        `cpu`, `cuda`, `mps` or `auto`; see `resolve_device`.
    n_threads : int
        CPU threads, at least 1.
    channels_last : bool
        Whether images and weights are stored channels-last, which is faster on most GPUs.
    compile : bool
        Whether the model is compiled by `torch.compile`.
    deterministic : bool
        Whether repeating a training gives bit-identical weights. On the CPU this is always so; on
        a GPU, except for operations without a deterministic implementation in torch, about which
        torch warns. If false, cuDNN chooses the fastest algorithms, and a resumed training is
        only as reproducible as the device.
    validate_every : int
        Epochs between validations, at least 1; the last epoch is always validated.
    save_minutes : float
        Shortest time between two resume states, in minutes; 0 to save after each epoch.

    Raises
    ------
    InputError
        If a number is too small; the message names the field.
    """

    device: str = "cpu"
    n_threads: int = 1
    channels_last: bool = False
    compile: bool = False
    deterministic: bool = True
    validate_every: int = 1
    save_minutes: float = 10.0

    def __post_init__(self) -> None:
        for field, least in (("n_threads", 1), ("validate_every", 1), ("save_minutes", 0)):
            if getattr(self, field) < least:
                raise InputError(
                    f"is {getattr(self, field)}", field=field, remedy=f"Give at least {least}"
                )

    def resolve(self) -> torch.device:
        """Return the device.

        Raises
        ------
        InputError
            If this machine does not have it.
        """
        return resolve_device(self.device)

    def arithmetic(self, device: torch.device) -> AbstractContextManager[None]:
        """Return the context in which all computations run.

        Parameters
        ----------
        device : torch.device
            The device of the training run.

        Returns
        -------
        context manager
            Sets torch's number of threads and its deterministic modes within the block.
        """
        if self.deterministic or device.type == "cpu":
            return repeatable_arithmetic(self.n_threads, strict=device.type == "cpu")
        return _fast_arithmetic(self.n_threads)

    def identity(self, device: torch.device) -> dict[str, str]:
        """Return the settings that must be equal for a training run to be resumed.

        Parameters
        ----------
        device : torch.device
            The device of the training run.

        Returns
        -------
        dict of str to str
            Values by the name of the setting. On a GPU, the number of CPU threads does not
            matter.
        """
        values = asdict(self) | {"device": device.type}
        for irrelevant in ("validate_every", "save_minutes"):
            del values[irrelevant]
        if device.type != "cpu":
            del values["n_threads"]
        return {name: str(value) for name, value in values.items()}


@contextmanager
def _fast_arithmetic(n_threads: int) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=True, deterministic=False, allow_tf32=False
        ):
            yield
    finally:
        torch.set_num_threads(threads)
