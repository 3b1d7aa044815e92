"""The forward pass: each batch goes through every model once, and the results to its writers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from tqdm import tqdm

from matcheval.datasets.dataset import Dataset
from matcheval.errors import ErrorCollector, InputError
from matcheval.inference.batches import Writer
from matcheval.inference.feeding import feed
from matcheval.inference.forward_model import ForwardConfig, ForwardModel
from matcheval.inference.model_pass import ModelPass
from matcheval.inference.precision import arithmetic
from matcheval.inference.readers import Reader


def run_inference(
    tasks: Sequence[tuple[ForwardModel, Sequence[Writer]]],
    reader: Reader,
    dataset: Dataset,
    settings: ForwardConfig,
    *,
    progress: bool = False,
    before_files: Callable[[], object] = lambda: None,
) -> None:
    """Pass a dataset once through one or several models, and hand the results to their writers."""
    problems = ErrorCollector()
    batch_size = settings.images_at_a_time(*reader.shape[:2])
    names = ", ".join(model.name for model, _ in tasks)
    bar = tqdm(
        total=len(dataset), desc=f"{names} on {dataset.name}", unit="image", disable=not progress
    )
    passes = []
    for model, writers in tasks:
        with problems.collected():
            passes.append(ModelPass(model, dataset, writers))
    try:
        with bar, arithmetic(settings.precision, settings.device, settings.n_threads):
            dtype = torch.float32 if dataset.has_vectors else torch.uint8
            batches = (
                feed(reader, len(dataset), batch_size, settings.device, dtype) if passes else ()
            )
            with torch.inference_mode():
                for start, pixels in batches:
                    for one in list(passes):
                        with _or_left_out(one, passes, problems):
                            one.update(start, pixels)
                    bar.update(len(pixels))
                    if not passes:
                        break
        before_files()
        for one in list(passes):
            with _or_left_out(one, passes, problems):
                one.finish()
    except BaseException:
        for one in passes:
            one.discard()
        raise
    problems.raise_any()


@contextmanager
def _or_left_out(
    one: ModelPass, passes: list[ModelPass], problems: ErrorCollector
) -> Iterator[None]:
    """Record an `InputError` of the block, and go on without its model."""
    with problems.collected():
        try:
            yield
        except InputError:
            passes.remove(one)
            one.discard()
            raise
