"""Datasets of features: what a network computes of another dataset's images, as vectors.

They are datasets of the configuration, which all studies in a results folder share.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import InputError, configuration_error
from matcheval.inference.settings import InferenceConfig
from matcheval.models.rows import CALLABLE, PACKAGE, ModelSource
from matcheval.models.transforms import Transform
from matcheval.settings import Boolean, ImagesName, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Wildcards
from matcheval.study.study import BuiltDataset

# Raise this by hand when an edit changes the features of a dataset. They are computed by a `shell:`
# rule, which does not notice changes of the library.
FEATURES_VERSION = 1


def extract_features(
    name: str, source: ModelSource, dataset: Dataset, config: InferenceConfig, *,
    as_stored: bool = False, progress: bool = False,
) -> Dataset:  # fmt: skip
    """Make a dataset of features: the inputs of a network's last linear layer, for each image.

    Images are not augmented. If `as_stored`, they are normalised only, not resized and cropped, and
    must have one size.
    """
    from matcheval.inference.forward import ForwardModel, resolved, run_inference
    from matcheval.inference.outputs import FeatureWriter
    from matcheval.inference.running import open_reader, provenance
    from matcheval.models.loading import load_network
    from matcheval.models.networks import last_linear

    config, loaded = resolved(config), load_network(source, dataset)
    if as_stored:
        plain = Transform.plain(loaded.transform.mean, loaded.transform.std)
        loaded = replace(loaded, transform=plain)
    model = ForwardModel(source.source, loaded.module, loaded.transform, config)
    # The pass checks that logits are those of the dataset's classes; here they are not used.
    n_outputs = loaded.n_classes or last_linear(loaded.module, source.source).out_features
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


class FeaturesSettings(Settings):
    """No settings: datasets of kind `features` are computed with those of `inference`."""


class FeaturesDataset(DatasetKind):
    """A dataset of features, which a network computes of another dataset's images."""

    kind: Literal["features"]
    of: ImagesName = Field(description="The dataset of images")
    package: str | None = Field(
        None, description="Package of weights and architecture of timm, as in a model catalogue"
    )
    callable: str | None = Field(
        None, description="Module and function that returns the network, as in a model catalogue"
    )
    as_stored: Boolean = Field(
        False, description="Normalise images only; do not resize and crop them as for the network"
    )

    @model_validator(mode="after")
    def _check_network(self) -> "FeaturesDataset":
        """Check that either `package` or `callable` is given, and that it can name a network."""
        if (self.package is None) == (self.callable is None):
            raise ValueError("give the network as either 'package' or 'callable'")
        try:
            _ = self.network
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def network(self) -> ModelSource:
        """Where the network comes from: a package or a callable."""
        kind = PACKAGE if self.package is not None else CALLABLE
        source = self.package or self.callable or ""
        return ModelSource.from_row("network", kind, {"source": source})


class Features(Analysis):
    """Builds the datasets of kind `features`."""

    name: ClassVar[str] = "features"
    Settings: ClassVar[type[FeaturesSettings]] = FeaturesSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"features": FeaturesDataset}
    settings: FeaturesSettings

    @cached_property
    def sets(self) -> dict[str, FeaturesDataset]:
        """The study's datasets of kind `features`, by name."""
        return {
            name: FeaturesDataset.model_validate({"kind": "features", **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "features"
        }

    def check(self) -> None:
        """Check that features are computed of images, by networks whose code is installed."""
        for name, dataset in self.sets.items():
            field = f"datasets.{name}.of"
            if dataset.of in self.sets:
                problem = f"'{dataset.of}' consists of features itself"
                raise configuration_error(problem, field=field, remedy="Give a dataset of images")
            if name in self.study.used:
                _ = dataset.network.code_file

    @property
    def targets(self) -> list[str]:
        """Files of the datasets of features that the study uses."""
        used = [name for name in self.sets if name in self.study.used]
        return [file for name in used for file in self.study.dataset_inputs(name)]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The datasets of features that jobs build, by name."""
        built = partial(BuiltDataset, version=FEATURES_VERSION, is_vectors=True)
        return {name: built((dataset.of,)) for name, dataset in self.sets.items()}

    def network_state(self, wildcards: Wildcards) -> str:
        """Return a digest of the network's code; features are computed anew if it changes."""
        return self.sets[wildcards.dataset].network.code_digest

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options of the job that computes a dataset of features."""
        dataset, settings = self.sets[wildcards.dataset], self.study.inference
        return [
            "--name", wildcards.dataset,
            "--of", self.study.dataset_folder(dataset.of),
            "--network", dataset.network.to_json(),
            "--output", self.study.dataset_folder(wildcards.dataset),
            "--device", settings.device, "--precision", settings.precision,
            *(["--as-stored"] if dataset.as_stored else []),
        ]  # fmt: skip
