"""A model of the caller's own, run on data of the caller's own: outputs that `compare` takes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError, check_known

if TYPE_CHECKING:
    from torch import Tensor, nn

# Names of images and labels in batches that are mappings, as Hugging Face's datasets give them.
_IMAGES = ("pixel_values", "images", "image", "img", "inputs")
_LABELS = ("labels", "label", "targets", "target", "fine_label")


def evaluate(
    model: Callable[..., Any] | str,
    data: Any,
    *,
    device: str = "auto",
    precision: str = "fp32",
    batch_size: int = 64,
    progress: bool = True,
) -> dict[str, npt.NDArray[Any]]:
    """Run a model on a test set; return labels and logits, as `compare` and others take them.

    It is the forward pass of the workflow: evaluation mode, repeatable arithmetic, and smaller
    batches where the device's memory does not suffice. Torch is needed.

    Parameters
    ----------
    model : torch.nn.Module, callable or str
        Maps a batch of images to logits, shape (n, n_classes), or to an object or mapping with
        `logits`, or a tuple with them, which a loss may precede: a network of timm, torchvision or
        Hugging Face, or a function around one. Its modes of training and its device are afterwards
        as before.
        A name is that of a pretrained model of timm, `resnet50.a1_in1k`, or on the Hugging Face
        hub, `hf://user/repository`; timm downloads it.
    data : iterable of batches, dataset, or pair of arrays
        A `DataLoader`, or anything that yields batches; a dataset of images and labels, which is
        put into batches in its order; or images and labels. Batches and items are pairs, or
        mappings with `pixel_values`, `images`, `image` or `img`, and `labels`, `label` or
        `targets`. Images are what the model takes: transformed, as tensors or arrays. Labels are
        whole numbers from 0.
    device : str
        `cpu`, `cuda`, `mps`, or `auto`: a GPU if there is one, and the CPU for a function that is
        no module.
    precision : str
        `fp32`, `tf32`, `bf16` or `fp16`, where the device supports it.
    batch_size : int
        Images at a time, where the data are not in batches.
    progress : bool
        Whether terminals and notebooks show a progress bar.

    Returns
    -------
    dict of str to array
        `labels` (int64, shape (n,)) and `logits` (float32, shape (n, n_classes)).

    Raises
    ------
    InputError
        If torch is missing, the device or precision is unknown, there is no such model, or images,
        labels or outputs are not as described.
    """
    try:
        import torch
    except ImportError:
        remedy = "Install it: pip install torch"
        raise InputError("running a model needs torch, which is missing", remedy=remedy) from None
    from tqdm.auto import tqdm

    from matcheval.inference.forward import DTYPE_TEXT, ForwardModel, arithmetic, resolved
    from matcheval.inference.settings import InferenceConfig
    from matcheval.models.transforms import Transform

    check_known("precision", [precision], DTYPE_TEXT)
    if isinstance(model, str):
        model = pretrained_model(model)
    name = type(model).__name__ if isinstance(model, torch.nn.Module) else "model"
    if device == "auto" and not isinstance(model, torch.nn.Module):
        device = "cpu"
    threads = torch.get_num_threads()
    config = resolved(InferenceConfig(device, batch_size, threads, precision))
    outputs, labels, n = list[npt.NDArray[Any]](), list[npt.NDArray[Any]](), 0
    batches, n_batches = _make_batches(data, batch_size)
    bar = tqdm(
        batches, desc=name, total=n_batches, unit="batch", disable=None if progress else True
    )
    with _restored_afterwards(model), arithmetic(config), torch.inference_mode():
        forward = ForwardModel(name, _logits_module(model), Transform.plain(), config)
        network = forward.network(features=False)
        for images, batch_labels in bar:

            def logits_of_part(begin: int, end: int, images: "Tensor" = images) -> "Tensor":
                return network(images[begin:end].to(forward.device))[0]

            parts = forward.in_parts(len(images), logits_of_part, n, "data")
            logits = np.concatenate([part.float().cpu().numpy() for _, part in parts])
            _check_logits(logits, len(images), n, name)
            outputs.append(logits)
            labels.append(batch_labels)
            n += len(images)
    if not outputs:
        raise InputError("has no datapoints", file="data", remedy="Give a test set that has some")
    return {"labels": np.concatenate(labels), "logits": np.concatenate(outputs)}


def pretrained_model(name: str) -> "nn.Module":
    """Load a pretrained model by its name in timm, or on the hub if timm can load it."""
    try:
        from matcheval.models.packages import load_timm, timm_name

        timm = load_timm()
    except ImportError:
        problem, remedy = "pretrained models need timm, which is missing", "pip install timm"
        raise InputError(problem, file=name, remedy=f"Install it: {remedy}") from None
    try:
        return timm.create_model(timm_name(name), pretrained=True)
    except Exception as error:  # timm, torch and the hub raise many kinds
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"timm has no such model ({reason:.200})"
        remedy = "Give a name of timm.list_pretrained(), or hf://user/repository that timm can load"
        raise InputError(problem, file=name, remedy=remedy) from error


@contextmanager
def _restored_afterwards(model: Any) -> Iterator[None]:
    """Restore a model's device and training modes at the end of a `with` block."""
    parts = model.modules() if hasattr(model, "modules") else ()
    modes = {module: module.training for module in parts}
    devices = {parameter.device for parameter in model.parameters()} if modes else set()
    try:
        yield
    finally:
        for module, is_training in modes.items():
            module.training = is_training
        if len(devices) == 1:
            model.to(devices.pop())


def _logits_module(model: Callable[..., Any]) -> "nn.Module":
    """Wrap a model in a module that extracts the logits from what the model returns."""
    from torch import Tensor, nn

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, images: Tensor) -> Tensor:
            output = self.model(images)
            if isinstance(output, Mapping):
                output = output.get("logits", output)
            output = getattr(output, "logits", output)
            if isinstance(output, tuple | list):  # a loss may come before the logits
                output = next((x for x in output if isinstance(x, Tensor) and x.ndim > 1), output)
            if not isinstance(output, Tensor) or not output.ndim:
                what = "a single number" if isinstance(output, Tensor) else type(output).__name__
                remedy = "Return a tensor of logits, shape (n, n_classes)"
                raise InputError(f"returns {what}", file="model", remedy=remedy)
            return output

    return Logits()


def _make_batches(data: Any, batch_size: int) -> tuple[Iterator[tuple["Tensor", Any]], int | None]:
    """Put data into batches of images and labels; return these, and their number if known."""
    from torch.utils.data import DataLoader, IterableDataset

    if isinstance(data, tuple | list) and len(data) == 2 and all(hasattr(x, "shape") for x in data):
        images, labels = data
        if len(images) != len(labels):
            problem = f"{len(images)} images and {len(labels)} labels"
            raise InputError(problem, file="data", remedy="Give a label for every image")
        data = [(images[i : i + batch_size], labels[i : i + batch_size])
                for i in range(0, len(images), batch_size)]  # fmt: skip
    elif hasattr(data, "__getitem__") and not isinstance(data, list | DataLoader | IterableDataset):
        data = DataLoader(data, batch_size)  # all others yield batches
    if getattr(data, "drop_last", False) and isinstance(data, DataLoader):
        left_out = len(data.dataset) % (data.batch_size or 1)  # type: ignore[arg-type]
        if left_out:
            problem = f"the DataLoader has drop_last=True, which leaves out {left_out} images"
            raise InputError(problem, remedy="Make it with drop_last=False")
    if not isinstance(data, Iterable):
        remedy = "Give a DataLoader, a dataset, or images and labels"
        raise InputError(f"is {type(data).__name__}", file="data", remedy=remedy)
    return _check_batches(data), len(data) if isinstance(data, Sized) else None


def _check_batches(batches: Iterable[Any]) -> Iterator[tuple["Tensor", npt.NDArray[np.int64]]]:
    """Yield images and labels of each batch as tensor and array; raise an error for others."""
    import torch

    try:
        for batch in batches:
            images, labels = _images_and_labels(batch)
            images = torch.as_tensor(images)
            labels = np.asarray(labels)
            if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
                raise InputError(
                    f"shape {labels.shape} and dtype {labels.dtype} for {len(images)} images",
                    file="data", field="labels", remedy="Give a whole number for each image",
                )  # fmt: skip
            yield images, labels.astype(np.int64)
    except (TypeError, RuntimeError) as error:  # torch cannot put them into a batch
        raise InputError(
            f"no tensors: {(str(error).splitlines() or ['TypeError'])[0]:.200}", file="data",
            remedy="Transform images to tensors, as the model takes them: "
            "a dataset of torchvision has `transform`, one of Hugging Face `set_transform`",
        ) from error  # fmt: skip


def _images_and_labels(batch: Any) -> tuple[Any, Any]:
    """Split a batch, a pair or a mapping, into images and labels; refuse anything else."""
    if isinstance(batch, Mapping):
        keys = [next((key for key in names if key in batch), None) for names in (_IMAGES, _LABELS)]
        if None not in keys:
            return batch[keys[0]], batch[keys[1]]
        kind = f"a mapping with {', '.join(map(str, batch))}"
    elif isinstance(batch, tuple | list) and len(batch) >= 2:
        return batch[0], batch[1]
    else:
        kind = f"a {type(batch).__name__}"
    problem = f"a batch is {kind}, in place of images and labels"
    remedy = f"Give pairs, or mappings with {' or '.join(_IMAGES)}, and {' or '.join(_LABELS)}"
    raise InputError(problem, file="data", remedy=remedy)


def _check_logits(logits: npt.NDArray[Any], n_images: int, n_before: int, name: str) -> None:
    """Check that a batch's logits are a row per image, and finite."""
    if logits.ndim != 2 or len(logits) != n_images:
        problem = f"logits of shape {logits.shape} for {n_images} images"
        raise InputError(problem, file=name, remedy="Return logits, shape (n, n_classes)")
    if not (finite := np.isfinite(logits).all(axis=1)).all():
        problem = f"logits of image {n_before + int(finite.argmin())} are not finite"
        raise InputError(problem, file=name, remedy="Look at its weights; or set precision='fp32'")
