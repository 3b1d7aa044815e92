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
    """How a training run is executed; these settings change at most the rounding of the weights."""

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
        """Return the device."""
        return resolve_device(self.device)

    def arithmetic(self, device: torch.device) -> AbstractContextManager[None]:
        """Return the context in which all computations run."""
        if self.deterministic or device.type == "cpu":
            return repeatable_arithmetic(self.n_threads, strict=device.type == "cpu")
        return _fast_arithmetic(self.n_threads)

    def identity(self, device: torch.device) -> dict[str, str]:
        """Return the settings that must be equal for a training run to be resumed."""
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
