"""Sampling new test sets from pools of annotated candidates, as an analysis.

Its results are datasets of the configuration, which all studies in a results folder share.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.analyses.sampling.settings import (
    PoolSettings,
    SampledDataset,
    SampledSettings,
    Strategy,
)
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import configuration_error, unknown_name_error
from matcheval.execution import analysis_resources, resources
from matcheval.io.files import file_states
from matcheval.study.analysis import Analysis
from matcheval.study.contents import BuiltDataset
from matcheval.study.requests import check_one_size, dataset_size
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study


class Sampling(Analysis):
    """Builds the datasets of kind `sampled`."""

    name: ClassVar[str] = "sampling"
    Settings: ClassVar[type[SampledSettings]] = SampledSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"sampled": SampledDataset}
    settings: SampledSettings

    def __init__(self, settings: SampledSettings, study: Study) -> None:
        super().__init__(settings, study)
        of_pool = f"{study.results}/pools/{{pool}}"
        of_dataset = f"{study.results}/sampling/{{dataset}}"
        self.annotations = Artifact(f"{of_pool}/annotations", (".parquet",))
        self.frequencies = Artifact(f"{of_pool}/frequencies", (".parquet",))
        self.provenance = Artifact(f"{of_dataset}/provenance", (".parquet",))
        self.excluded = Artifact(f"{of_dataset}/excluded", (".parquet",))
        self.strata = Artifact(f"{of_dataset}/strata", (".parquet",))

    @cached_property
    def sampled(self) -> dict[str, SampledDataset]:
        """The sampled datasets, by name."""
        return {
            name: SampledDataset.model_validate({"kind": "sampled", **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "sampled"
        }

    def check(self) -> None:
        """Check names, choices and files of pools and sampled datasets."""
        for name, pool in self.settings.pools.items():
            self._check_pool(name, pool)
        for name, dataset in self.sampled.items():
            self._check_sampled(name, dataset)

    def _check_pool(self, name: str, pool: PoolSettings) -> None:
        for key, names in (
            ("candidates", [pool.candidates]),
            ("original", [pool.original]),
            ("against", pool.against),
        ):
            for dataset in names:
                self.study.check_dataset(dataset, self.field("pools", name, key), images=True)
        if pool.simulate is not None and pool.simulate.compare_size is None:
            field = self.field("pools", name, "simulate")
            self._check_one_size((pool.candidates, pool.original), field)
        files = pool.custom_files | ({"annotations": pool.annotations} if pool.annotations else {})
        for key, path in files.items():
            self.check_file(path, self.field("pools", name, key))

    def _check_one_size(self, names: Iterable[str], field: str) -> None:
        for name in names:
            check_one_size(self.study, name, field=field, remedy="Add 'compare_size: 256'")

    def _check_sampled(self, name: str, dataset: SampledDataset) -> None:
        field = f"datasets.{name}"
        if dataset.pool not in self.settings.pools:
            raise unknown_name_error(
                "pool", dataset.pool, self.settings.pools,
                file="configuration", field=f"{field}.pool",
            )  # fmt: skip
        pool = self.settings.pools[dataset.pool]
        if name in pool.sets:
            raise configuration_error(
                f"'{name}' is sampled from a pool that it is part of",
                field=self.field("pools", dataset.pool),
            )
        by_keywords = dataset.strategy == Strategy.KEYWORDS
        if not (pool.keywords is not None if by_keywords else pool.has_annotations):
            needed = "keywords" if by_keywords else "annotations or simulate"
            raise configuration_error(
                f"strategy {dataset.strategy} needs {needed} of pool '{dataset.pool}'",
                field=f"{field}.strategy",
            )
        if dataset.compares_pixels and dataset.compare_size is None:
            self._check_one_size(pool.sets, field)
        if dataset.start_from is None:
            return
        others = [other for other in self.sampled if other != name]
        if dataset.start_from not in others:
            raise unknown_name_error(
                "other sampled set",
                dataset.start_from,
                others,
                file="configuration",
                field=f"{field}.start_from",
            )

    @property
    def targets(self) -> list[str]:
        """Records of how the compared sets were sampled."""
        names = [name for name in self.sampled if name in self.study.evaluated]
        artifacts = (self.provenance, self.excluded, self.strata)
        return [file for artifact in artifacts for file in artifact.expand(dataset=names)]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The sampled datasets."""
        found = {}
        for name, dataset in self.sampled.items():
            pool = self.settings.pools.get(dataset.pool)
            annotated = pool is not None and pool.has_annotations
            found[name] = BuiltDataset(
                sources=tuple(pool.sets) if pool else (),
                version=SAMPLING_VERSION,
                selection_frequencies=self.provenance.file(dataset=name) if annotated else "",
            )
        return found

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Pools, whose annotations and frequencies studies share."""
        pools = self.settings.pools.items()
        return {"pool": {name: pool.model_dump(mode="json") for name, pool in pools}}

    # --- inputs and arguments of jobs

    def pool_datasets(self, wildcards: Wildcards) -> list[str]:
        """Return the files of a pool's candidates and original."""
        pool = self.settings.pools[wildcards.pool]
        names = (pool.candidates, pool.original)
        return [file for name in names for file in self.study.dataset_files(name)]

    def annotations_of_pool(self, wildcards: Wildcards) -> str:
        """Return the annotations of a pool: the user's file, or the simulated ones."""
        given = self.settings.pools[wildcards.pool].annotations
        return given or self.annotations.file(pool=wildcards.pool)

    def simulate_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that simulates annotations."""
        simulate = self.settings.pools[wildcards.pool].simulate
        options = simulate.model_dump(exclude_none=True) if simulate else {}
        return [*self._sets(self.settings.pools[wildcards.pool]), *_flags(options)]

    def count_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a job that counts annotations."""
        pool = self.settings.pools[wildcards.pool]
        return [*self._sets(pool), *_flags({"repeated": pool.repeated})]

    def sample_inputs(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the files that a dataset is sampled from: datasets, and tables by option."""
        names = self._pool_of(wildcards).sets
        sets = [file for name in names for file in self.study.dataset_files(name)]
        return {"sets": sets, **self._tables(wildcards)}

    def sample_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a sampling job."""
        pool = self._pool_of(wildcards)
        dataset = self.sampled[wildcards.dataset]
        settings = dataset.sampling.model_dump(mode="json", exclude_unset=True)
        return [
            "--name", wildcards.dataset, *self._sets(pool),
            "--against", *(self.study.dataset_folder(name) for name in pool.against),
            *_flags(self._tables(wildcards)),
            "--settings", json.dumps(settings, sort_keys=True),
            "--output", self.study.dataset_folder(wildcards.dataset),
            *(
                word
                for flag in ("provenance", "excluded", "strata")
                for word in (f"--{flag}", getattr(self, flag).file(dataset=wildcards.dataset))
            ),
        ]  # fmt: skip

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files about a pool."""
        is_pool = getattr(wildcards, "pool", None) is not None
        pool = self.settings.pools[wildcards.pool] if is_pool else self._pool_of(wildcards)
        annotations = [] if pool.annotations is None else [pool.annotations]
        return file_states([*annotations, *pool.custom_files.values()])

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """By the sizes of the pool's datasets."""
        return {
            "simulate_annotations": self._request_of_pool,
            "count_selections": self._request_of_pool,
            "sample_dataset": self._request_of_sampling,
        }

    def _request_of_pool(self, wildcards: Wildcards) -> resources.ResourceRequest:
        pool = self.settings.pools[wildcards.pool]
        return resources.of_preparing(dataset_size(self.study, pool.candidates))

    def _request_of_sampling(self, wildcards: Wildcards) -> resources.ResourceRequest:
        sets = [dataset_size(self.study, name) for name in self._pool_of(wildcards).sets]
        return analysis_resources.of_searching(sets, self.sampled[wildcards.dataset].compare_size)

    def _pool_of(self, wildcards: Wildcards) -> PoolSettings:
        return self.settings.pools[self.sampled[wildcards.dataset].pool]

    def _sets(self, pool: PoolSettings) -> list[str]:
        folder = self.study.dataset_folder
        return _flags({"candidates": folder(pool.candidates), "original": folder(pool.original)})

    def _tables(self, wildcards: Wildcards) -> dict[str, str]:
        """Tables that sampling reads, by the option that names them."""
        dataset, pool = self.sampled[wildcards.dataset], self._pool_of(wildcards)
        tables = dict(pool.custom_files)
        if pool.has_annotations:
            tables["frequencies"] = self.frequencies.file(pool=dataset.pool)
        if dataset.start_from is not None:
            tables["previous"] = self.provenance.file(dataset=dataset.start_from)
        return tables


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line."""
    return [
        word
        for key, value in options.items()
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
