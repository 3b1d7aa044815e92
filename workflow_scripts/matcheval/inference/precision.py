"""What numbers a model computes in."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from matcheval.errors import InputError
from matcheval.inference import PRECISIONS
from matcheval.models.arithmetic import repeatable_arithmetic

_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}

DTYPE_TEXT = {
    "fp32": "float32",
    "tf32": "float32, products in tf32",
    "bf16": "float32, autocast to bfloat16",
    "fp16": "float32, autocast to float16",
}


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse a precision that is unknown, or that the device has not.

    Raises
    ------
    InputError
        Naming what is there instead.
    """
    if precision not in PRECISIONS:
        raise InputError(
            f"unknown precision '{precision}'",
            field="precision",
            remedy=f"Known: {', '.join(PRECISIONS)}",
        )
    if precision == "tf32":
        there = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        there = precision != "bf16" or device.type != "cuda" or torch.cuda.is_bf16_supported()
    if not there:
        raise InputError(
            f"this {device.type} device has no {precision}",
            field="precision",
            remedy="Use fp32; tf32 and bf16 are of NVIDIA's GPUs from Ampere on",
        )


@contextmanager
def arithmetic(precision: str, device: torch.device, n_threads: int) -> Iterator[None]:
    """Compute in a precision within the block, repeatably (see `repeatable_arithmetic`).

    Parameters
    ----------
    precision : str
        One of `inference.PRECISIONS`, as `check_precision` allows.
    device : torch.device
        Where.
    n_threads : int
        CPU threads.
    """
    before = torch.get_float32_matmul_precision()
    with ExitStack() as stack:
        # Some layers have no deterministic form on a GPU: torch warns of them there.
        stack.enter_context(repeatable_arithmetic(n_threads, strict=device.type == "cpu"))
        stack.callback(torch.set_float32_matmul_precision, before)
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        if precision == "tf32":
            stack.enter_context(
                torch.backends.cudnn.flags(
                    enabled=True, benchmark=False, deterministic=True, allow_tf32=True
                )
            )
        elif precision in _AUTOCAST:
            stack.enter_context(torch.autocast(device.type, dtype=_AUTOCAST[precision]))
        yield
