"""Run one model on one dataset: write its predictions and further outputs."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.inference import N_TOP, OUTPUTS

log = logging.getLogger("predict_dataset")


def predict_dataset(
    model: str,
    weights: Path | None,
    dataset_name: str,
    dataset: Path,
    files: dict[str, Path],
    manifest: Path | None,
    **config: Any,
) -> None:
    """Run a model on a dataset and write the requested outputs.

    Parameters
    ----------
    model : str
        JSON of a `ModelSource`.
    weights, dataset_name, files
        As for `running.predict_to_files`.
    dataset : Path
        Folder of the prepared dataset.
    manifest : Path or None
        Manifest of a pixel cache.
    **config
        Fields of `InferenceConfig`.
    """
    from matcheval.inference.running import InferenceConfig, predict_to_files
    from matcheval.models.rows import ModelSource

    start = time.perf_counter()
    source = ModelSource.from_json(model)
    predict_to_files(
        source, weights, dataset_name, dataset, files,
        config=InferenceConfig(**config), manifest_file=manifest, progress=show_progress(),
    )  # fmt: skip
    log.info("%s on %s: %.1f s", source.name, dataset_name, time.perf_counter() - start)


def _batch_size(text: str) -> int | str:
    return text if text == "auto" else int(text)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the model.

    Parameters
    ----------
    argv : sequence of str, optional
        Command-line arguments; those of the process by default.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="JSON: name, kind, source, options")
    parser.add_argument("--weights", type=Path, help="file of the model's weights")
    parser.add_argument("--dataset", type=Path, required=True, help="dataset folder")
    parser.add_argument("--dataset-name", required=True, help="the dataset's name")
    parser.add_argument("--manifest", type=Path, help="manifest of a pixel cache")
    parser.add_argument("--batch-size", type=_batch_size, default="auto", help="images per batch")
    parser.add_argument("--threads", type=int, default=1, dest="n_threads", help="CPU threads")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps or auto")
    parser.add_argument("--precision", default="fp32", help="fp32, tf32, bf16 or fp16")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument(
        "--n-top", type=int, default=N_TOP, help="number of classes that --top keeps"
    )
    for name in OUTPUTS:
        parser.add_argument(f"--{name}", type=Path, help=f"file of {name} to write")
    arguments = vars(parser.parse_args(argv))
    paths = {name: arguments.pop(name) for name in OUTPUTS}
    files = {name: path for name, path in paths.items() if path}
    run_command(predict_dataset, files=files, **arguments)


if __name__ == "__main__":
    main()
