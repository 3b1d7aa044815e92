"""The CPU under the name of a GPU: what runs on CUDA devices only runs here, too."""

from collections import deque
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")
_AUTOCAST = torch.autocast


class FakeCuda(TorchFunctionMode):
    """Runs what is meant for `cuda` on the CPU, and copies late what need not be copied at once.

    A copy with `non_blocking` happens when an event that was recorded after it is waited for, so
    that a missing wait gives wrong numbers. Convolutions of more bytes than `limit` are out of
    memory.
    """

    def __init__(self, capability=(9, 0)):
        super().__init__()
        self.capability, self.limit, self.copies = capability, None, deque()
        self.layouts, self.emptied = set(), 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.device:
            return func(*args, **kwargs)
        kwargs.pop("pin_memory", None)
        late = kwargs.pop("non_blocking", False)
        args = [CPU if self.is_own(one) else one for one in args]
        kwargs = {name: CPU if self.is_own(one) else one for name, one in kwargs.items()}
        if func is torch.conv2d:
            self.layouts.add(args[0].is_contiguous(memory_format=torch.channels_last))
            if self.limit is not None and args[0].nbytes > self.limit:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 TiB")
        if not late:
            return func(*args, **kwargs)
        source = args[1] if func is torch.Tensor.copy_ else args[0]
        target = args[0] if func is torch.Tensor.copy_ else torch.full_like(source, 77)
        # NumPy may write to tensors of the inference mode outside of it.
        self.copies.append(lambda: np.copyto(target.numpy(), source.numpy()))
        return target

    @staticmethod
    def is_own(value):
        return isinstance(value, str | torch.device) and str(value).startswith("cuda")

    def event(self):
        """An event; waiting for it ends the copies that were begun before it was recorded."""
        before = []

        def wait():
            for copy in before:
                if copy in self.copies:
                    self.copies.remove(copy)
                    copy()

        record = lambda *_: before.extend(self.copies)  # noqa: E731
        return SimpleNamespace(record=record, synchronize=wait)

    def install(self, monkeypatch):
        """Put this in the place of `torch.cuda`."""
        total = 2**30
        stream = SimpleNamespace(wait_event=lambda event: event.synchronize())
        properties = SimpleNamespace(name="Fake", total_memory=total)
        answers = {
            "is_available": True, "device_count": 1, "current_device": 0, "Stream": stream,
            "current_stream": stream, "get_device_properties": properties,
            "get_device_name": "Fake",
            "mem_get_info": (total, total), "reset_peak_memory_stats": None,
            "max_memory_allocated": 2**20, "max_memory_reserved": 2**20, "get_arch_list": [],
        }  # fmt: skip
        for name, answer in answers.items():
            monkeypatch.setattr(torch.cuda, name, lambda *_, answer=answer: answer)

        def supported(including_emulation=True):
            return including_emulation or self.capability >= (8, 0)

        def limited(fraction):
            self.limit = None if fraction == 1 else fraction * total

        def empty():
            self.emptied += 1

        for name in ("stream", "device"):
            monkeypatch.setattr(torch.cuda, name, nullcontext)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: self.capability)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", limited)
        monkeypatch.setattr(torch.cuda, "empty_cache", empty)
        monkeypatch.setattr(torch.cuda, "Event", self.event)
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda *_: None)
        monkeypatch.setattr(torch, "compile", lambda function: function)
        monkeypatch.setattr(
            torch,
            "autocast",
            lambda device, *a, **k: _AUTOCAST(device.replace("cuda", "cpu"), *a, **k),
        )
