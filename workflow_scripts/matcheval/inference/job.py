"""An inference job: some models on many datasets, of which only what is missing is computed.

Imports torch only if there is something to compute.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.datasets.folders import read_description
from matcheval.errors import ErrorCollector, InputError, StoppedError
from matcheval.execution.batches import one_line, run_in_processes
from matcheval.inference import store
from matcheval.inference.settings import InferenceConfig, deciding
from matcheval.inference.store import ModelFiles, Task

log = logging.getLogger(__name__)


def predict_datasets(
    models: Sequence[ModelFiles],
    datasets: Mapping[str, Path],
    predictions: Path,
    outputs: Sequence[str] = (),
    *,
    config: InferenceConfig,
    n_processes: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
    progress: bool = False,
) -> None:
    """Run models on datasets, and write the requested outputs that are missing or not current.

    Each process runs all models on some of the datasets, one after the other.
    """
    n_processes = min(n_processes, len(datasets))
    if n_processes > 1:
        import matcheval.inference.running  # noqa: F401 - before the processes start, which need it

        names = list(datasets)
        tasks = {}
        for i in range(n_processes):
            share = {name: datasets[name] for name in names[i::n_processes]}
            tasks[", ".join(share)] = partial(
                _run_and_report, models, share, predictions, outputs, config, should_stop
            )
        failed = [reason for _, reason in run_in_processes(tasks, n_processes) if reason]
        if failed:
            raise InputError("; ".join(failed))
    else:
        _run_missing(models, datasets, predictions, outputs, config, should_stop, progress=progress)


def _run_and_report(*arguments: Any) -> str:
    """Run models on datasets in this process; return why it failed, or an empty string."""
    try:
        _run_missing(*arguments)
    except Exception as error:
        if not isinstance(error, InputError):
            log.exception("failed")
        return one_line(error)
    return ""


def _run_missing(
    models: Sequence[ModelFiles], datasets: Mapping[str, Path], predictions: Path,
    outputs: Sequence[str], config: InferenceConfig,
    should_stop: Callable[[], bool], *, progress: bool = False,
) -> None:  # fmt: skip
    """Run each model on the datasets for which its outputs are missing or not current."""
    problems = ErrorCollector()
    identities = [model.digest() for model in models]
    runner = None
    for name, folder in datasets.items():
        if runner is not None and should_stop():
            raise StoppedError("stopped as its time is nearly over", file=f"dataset '{name}'")
        with problems.collected():
            start = time.perf_counter()
            description = read_description(folder)
            missing = []
            for model, identity in zip(models, identities, strict=True):
                files = store.output_files(predictions, name, model.source.name, outputs)
                inputs = store.inputs_digest(identity, description, deciding(config))
                if not store.is_current(files, inputs, config.n_top):
                    missing.append(Task(model, files, inputs))
            if not missing:
                continue
            from matcheval.inference.running import ModelRunner

            runner = runner or ModelRunner(config, progress=progress)
            ran = ", ".join(task.model.source.name for task in missing)
            try:
                runner.run(name, folder, missing)
            except (RuntimeError, OSError) as error:  # of torch or of a file: others may succeed
                log.exception("%s on %s failed", ran, name)
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise InputError(f"{ran} failed ({reason})", file=f"dataset '{name}'") from error
            log.info("%s on %s: %.1f s", ran, name, time.perf_counter() - start)
    problems.raise_any()
