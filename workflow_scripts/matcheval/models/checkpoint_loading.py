"""Loading of safetensors files: checkpoints of this workflow, and plain state dicts."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from matcheval.datasets.dataset import Dataset, image_shape
from matcheval.errors import InputError
from matcheval.io.self_digests import verify_file
from matcheval.models.building import build_model
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.loaded_model import LoadedModel, state_digest
from matcheval.models.rows import TRAINED, ModelSource
from matcheval.models.transforms import NORMALIZATIONS, Transform


def load_trained_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a checkpoint that this workflow trained."""
    checkpoint = load_checkpoint(weights)
    info = checkpoint.info
    if source.kind == TRAINED and info.model != source.name:
        raise InputError(
            f"holds the weights of model '{info.model}', not of '{source.name}'",
            file=weights,
            remedy="Use the name that it was trained under, or train the model again",
        )
    shape = image_shape(dataset)
    if info.input_shape != shape or info.max_value != dataset.max_value:
        raise InputError(
            f"its images have shape {shape} and pixel values up to {dataset.max_value}, but model "
            f"{source.name} was trained on shape {info.input_shape} and values up to "
            f"{info.max_value}",
            file=dataset.name,
            remedy="Pair the model with a dataset of the same image shape and pixel range",
        )
    module = checkpoint.build()
    return LoadedModel(
        module, Transform.plain(info.mean, info.std), info.n_classes, info.classes,
        state_digest(module.state_dict()), f"{info.architecture}, trained by this workflow",
    )  # fmt: skip


def load_checkpoint_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a safetensors file: a checkpoint of this workflow, or a plain state dict."""
    try:
        with safe_open(str(weights), framework="pt") as archive:
            is_checkpoint = "matcheval" in (archive.metadata() or {})
        if is_checkpoint:
            return load_trained_model(source, weights, dataset)
        verify_file(weights)  # damage may have hidden that it is one
        state = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"not a readable safetensors file, perhaps truncated ({error})", file=weights
        ) from error
    if not source.options:
        raise InputError(
            "a plain state dict, whose network the catalogue does not describe",
            file=weights,
            remedy="Fill the columns architecture, width, depth and normalization of "
            f"model '{source.name}'",
        )
    options = dict(source.options)
    mean, std = NORMALIZATIONS[options.pop("normalization")]
    module = build_model(**options, input_shape=image_shape(dataset), n_classes=dataset.n_classes)
    _load_state(module, state, weights, f"a {options['architecture']} for {dataset.name}")
    return LoadedModel(
        module, Transform.plain(mean, std), dataset.n_classes, None,
        state_digest(module.state_dict()), f"{options['architecture']} from {weights.name}",
    )  # fmt: skip


def _load_state(module: nn.Module, state: Mapping[str, Tensor], file: Path, what: str) -> None:
    """Load a state dict into a module, or report how it differs from the module's."""
    expected = module.state_dict()
    # The batch counters of batch norm do not matter in evaluation, and older files lack them.
    optional = {key for key in expected if key.endswith("num_batches_tracked")}
    differences = [
        *(f"{key} is missing" for key in expected.keys() - state.keys() - optional),
        *(f"{key} is unexpected" for key in state.keys() - expected.keys()),
        *(
            f"{key} has shape {tuple(state[key].shape)}, not {tuple(expected[key].shape)}"
            for key in expected.keys() & state.keys()
            if state[key].shape != expected[key].shape
        ),
    ]
    if differences:
        more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        raise InputError(
            f"not the weights of {what}: {min(differences)}{more}",
            file=file,
            remedy="Check architecture, width and depth in the catalogue, and that the weights "
            "have as many classes as the dataset",
        )
    module.load_state_dict(dict(state), strict=False)
    module.eval()
