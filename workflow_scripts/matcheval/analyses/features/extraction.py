"""Computation of a dataset of features."""

from dataclasses import replace

import numpy as np

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.inference.forward import ForwardModel, resolved, run_inference
from matcheval.inference.outputs import FeatureWriter
from matcheval.inference.running import open_reader, provenance
from matcheval.inference.settings import InferenceConfig
from matcheval.models.loading import load_network
from matcheval.models.networks import head_of
from matcheval.models.rows import ModelSource
from matcheval.models.transforms import Transform


def extract_features(
    name: str,
    source: ModelSource,
    dataset: Dataset,
    config: InferenceConfig,
    *,
    as_stored: bool = False,
    progress: bool = False,
) -> Dataset:
    """Compute the features of a dataset's images: one pass of a network, images not augmented.

    Parameters
    ----------
    name : str
        Name of the new dataset.
    source : ModelSource
        The network, of kind `package` or `callable`. Its classes need not be the dataset's.
    dataset : Dataset
        Images with labels.
    config : InferenceConfig
        Device, batch size, precision.
    as_stored : bool
        Whether images are normalised only, and not resized and cropped as the network's transform
        has it; they must then have one size.
    progress : bool
        Whether to draw a progress bar.

    Returns
    -------
    Dataset
        Vectors in the order of the images, with their labels, classes and names: the input of the
        network's last linear layer, as the output `features` of inference. float32,
        shape (n, 1, 1, d).

    Raises
    ------
    InputError
        If the network cannot be loaded or has no features, or an image cannot be read.
    """
    config, loaded = resolved(config), load_network(source, dataset)
    if as_stored:
        plain = Transform.plain(loaded.transform.mean, loaded.transform.std)
        loaded = replace(loaded, transform=plain)
    model = ForwardModel(source.source, loaded.module, loaded.transform, config)
    # The pass checks that logits are those of the dataset's classes; here they are not used.
    n_outputs = loaded.n_classes or head_of(loaded.module, source.source).out_features
    outputs = tuple(map(str, range(n_outputs)))
    writer = FeatureWriter(len(dataset))
    run_inference(
        [(model, [writer])],
        open_reader(dataset, loaded.transform.geometry, config.n_threads),
        replace(dataset, classes=outputs), config, progress=progress,
    )  # fmt: skip
    described = provenance(source, loaded, dataset, config)
    del described["n_classes"], described["model"]
    return make_dataset(
        name, writer.values[:, np.newaxis, np.newaxis], dataset.labels,
        classes=dataset.classes, max_value=1, names=dataset.names,
        source=f"features of {dataset.name}: {loaded.description}",
        provenance={"kind": "features", "of": dataset.name, **described},
    )  # fmt: skip
