"""The numerical precision of the forward pass."""

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
    """Check that a precision is known and that the device supports it."""
    if precision not in PRECISIONS:
        raise InputError(
            f"unknown precision '{precision}'",
            field="precision",
            remedy=f"Known: {', '.join(PRECISIONS)}",
        )
    if precision == "tf32":
        supported = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        supported = precision != "bf16" or device.type != "cuda" or torch.cuda.is_bf16_supported()
    if not supported:
        raise InputError(
            f"this {device.type} device does not support {precision}",
            field="precision",
            remedy="Use fp32; on GPUs, tf32 and bf16 need an NVIDIA GPU from Ampere on",
        )


@contextmanager
def arithmetic(precision: str, device: torch.device, n_threads: int) -> Iterator[None]:
    """Compute reproducibly in a precision within the block (see `repeatable_arithmetic`)."""
    before = torch.get_float32_matmul_precision()
    with ExitStack() as stack:
        # Some layers have no deterministic implementation on a GPU; torch only warns there.
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
