"""How a training is run, as against what is trained: device, threads, and what is kept when."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass

import torch

from matcheval.errors import InputError
from matcheval.models.arithmetic import repeatable_arithmetic
from matcheval.models.devices import resolve_device


@dataclass(frozen=True)
class Engine:
    """Settings of a machine, which may change the last bits of the weights and nothing else.

    Attributes
    ----------
    device : str
        `cpu`, `cuda`, `mps` or `auto`; see `resolve_device`.
    n_threads : int
        CPU threads.
    channels_last : bool
        Whether images and weights have the channels last in memory: faster on most GPUs.
    compile : bool
        Whether the model goes through `torch.compile`.
    deterministic : bool
        Whether the same training gives the same weights to the bit: always so on the CPU; on a
        GPU up to operations for which torch has no such implementation, of which it warns.
        Otherwise cuDNN chooses by speed, and resuming is as exact as the device.
    validate_every : int
        Epochs between validations; the last epoch is always validated.
    save_minutes : float
        Least time between two savings of an unfinished training; 0 saves after each epoch.
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
        """The device.

        Raises
        ------
        InputError
            If this machine does not have it.
        """
        return resolve_device(self.device)

    def arithmetic(self, device: torch.device) -> AbstractContextManager[None]:
        """Context of all computations."""
        if self.deterministic or device.type == "cpu":
            return repeatable_arithmetic(self.n_threads, strict=device.type == "cpu")
        return _fast_arithmetic(self.n_threads)

    def identity(self, device: torch.device) -> dict[str, str]:
        """What must agree for an unfinished training to be taken up again."""
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
