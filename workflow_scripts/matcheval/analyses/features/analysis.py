"""Datasets of features, as an analysis: it builds the datasets of kind `features`.

Its results are datasets of the configuration, which all studies in a results folder share.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from matcheval.analyses.features import FEATURES_VERSION
from matcheval.analyses.features.settings import FeaturesDataset, FeaturesSettings
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import configuration_error
from matcheval.execution import network_sizes, resources
from matcheval.execution.resources import ResourceRequest
from matcheval.study.analysis import Analysis
from matcheval.study.contents import BuiltDataset
from matcheval.study.requests import dataset_size
from matcheval.study.rules import Wildcards


class Features(Analysis):
    """Builds the datasets of kind `features`."""

    name: ClassVar[str] = "features"
    Settings: ClassVar[type[FeaturesSettings]] = FeaturesSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"features": FeaturesDataset}
    settings: FeaturesSettings

    @cached_property
    def sets(self) -> dict[str, FeaturesDataset]:
        """The datasets of features, by name."""
        return {
            name: FeaturesDataset.model_validate({"kind": "features", **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "features"
        }

    def check(self) -> None:
        """Check the datasets of images, and that the networks are installed."""
        for name, dataset in self.sets.items():
            field = f"datasets.{name}.of"
            self.study.check_dataset(dataset.of, field, images=True)
            if dataset.of in self.sets:
                raise configuration_error(
                    f"'{dataset.of}' consists of features itself",
                    field=field,
                    remedy="Give a dataset of images",
                )
            if name in self.study.used:
                _ = dataset.network.code_file

    @property
    def targets(self) -> list[str]:
        """The datasets of features that the study uses."""
        used = [name for name in self.sets if name in self.study.used]
        return [file for name in used for file in self.study.dataset_files(name)]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The datasets of features."""
        return {
            name: BuiltDataset((each.of,), FEATURES_VERSION) for name, each in self.sets.items()
        }

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], ResourceRequest]]:
        """One pass of the network over the images."""
        return {"extract_features": self._of_extraction}

    def _of_extraction(self, wildcards: Wildcards) -> ResourceRequest:
        data = dataset_size(self.study, wildcards.dataset)
        package = self.sets[wildcards.dataset].package
        unknown = network_sizes.UNKNOWN_PUBLISHED
        model = network_sizes.size_of_published(package) if package else unknown
        settings = self.study.inference
        batch = settings.batch_size if isinstance(settings.batch_size, int) else 64
        return resources.of_inference(
            [(data, [model])], data,
            batch_size=batch, gpus=int(settings.device == "cuda"), threads=settings.threads,
        )  # fmt: skip

    # --- inputs and arguments of jobs

    def images(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the dataset of images."""
        return self.study.dataset_files(self.sets[wildcards.dataset].of)

    def network_state(self, wildcards: Wildcards) -> str:
        """Return a digest of the network's file, so that other weights are noticed."""
        return self.sets[wildcards.dataset].network.code_digest

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that computes features."""
        dataset, settings = self.sets[wildcards.dataset], self.study.inference
        return [
            "--name", wildcards.dataset,
            "--of", self.study.dataset_folder(dataset.of),
            "--network", dataset.network.to_json(),
            "--output", self.study.dataset_folder(wildcards.dataset),
            "--device", settings.device, "--precision", settings.precision,
            *(["--as-stored"] if dataset.as_stored else []),
        ]  # fmt: skip
