"""Sampling new test sets from pools of annotated candidates, as an analysis.

Its results are datasets of the configuration, which all studies in a results folder share.
"""

import json
from collections.abc import Iterable, Mapping
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
from matcheval.execution import resources
from matcheval.io.files import file_states
from matcheval.study.analysis import Analysis
from matcheval.study.contents import BuiltDataset
from matcheval.study.requests import check_one_size, dataset_size
from matcheval.study.rules import Artifact, Command, Wildcards
from matcheval.study.study import Study

_RECORDS = ("provenance", "excluded", "strata")


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
        return [file for key in _RECORDS for file in getattr(self, key).expand(dataset=names)]

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

    @property
    def commands(self) -> list[Command]:
        """The rules that simulate and count annotations, and sample a dataset."""
        study, pools = self.study, self.settings.pools

        def pool_of(wildcards: Wildcards) -> PoolSettings:
            is_pool = getattr(wildcards, "pool", None) is not None
            return pools[wildcards.pool if is_pool else self.sampled[wildcards.dataset].pool]

        def files_of(names: Iterable[str]) -> list[str]:
            return [file for name in names for file in study.dataset_files(name)]

        def custom_files_state(wildcards: Wildcards) -> list[tuple[int, int]]:
            pool = pool_of(wildcards)
            annotations = [] if pool.annotations is None else [pool.annotations]
            return file_states([*annotations, *pool.custom_files.values()])

        def simulate_options(pool: PoolSettings) -> dict[str, Any]:
            return pool.simulate.model_dump(exclude_none=True) if pool.simulate else {}

        def request_of_sampling(wildcards: Wildcards) -> resources.ResourceRequest:
            sizes = [dataset_size(study, name) for name in pool_of(wildcards).sets]
            size = self.sampled[wildcards.dataset].compare_size
            return resources.of_searching(sizes, size)

        of_pool: dict[str, Any] = {
            "values": {"pool": pools},
            "request": lambda w: resources.of_preparing(dataset_size(study, pool_of(w).candidates)),
        }
        both = {"sets": lambda w: files_of([pool_of(w).candidates, pool_of(w).original])}
        simulate = Command(
            name="simulate_annotations",
            command="sample simulate {params.arguments:q} --output {output:q}",
            input=both,
            output={"annotations": self.annotations},
            params={
                "arguments": lambda w: (
                    self._sets(pool_of(w)) + _flags(simulate_options(pool_of(w)))
                ),
                "version": SAMPLING_VERSION,
            },
            message="Simulating annotations of pool {wildcards.pool}",
            **of_pool,
        )
        count = Command(
            name="count_selections",
            command="sample count {params.arguments:q} --annotations {input.annotations:q} "
            "--output {output:q}",
            input={
                **both,
                "annotations": lambda w: (
                    pool_of(w).annotations or self.annotations.file(pool=w.pool)
                ),
            },
            output={"frequencies": self.frequencies},
            params={
                "arguments": lambda w: (
                    self._sets(pool_of(w)) + _flags({"repeated": pool_of(w).repeated})
                ),
                "custom_files": custom_files_state,
                "version": SAMPLING_VERSION,
            },
            message="Counting annotations of pool {wildcards.pool}",
            **of_pool,
        )
        sample = Command(
            name="sample_dataset",
            command="sample dataset {params.arguments:q}",
            input={
                "sets": lambda w: files_of(pool_of(w).sets),
                "tables": lambda w: list(self._tables(w.dataset).values()),
            },
            output={
                "dataset": study.dataset_files("{dataset}"),
                **{key: getattr(self, key) for key in _RECORDS},
            },
            params={
                "arguments": lambda w: self.sample_arguments(w.dataset),
                "custom_files": custom_files_state,
                "version": SAMPLING_VERSION,
            },
            values={"dataset": self.sampled},
            request=request_of_sampling,
            message="Sampling dataset {wildcards.dataset}",
        )
        return [simulate, count, sample]

    def sample_arguments(self, name: str) -> list[str]:
        """Return the command line that samples a dataset.

        Parameters
        ----------
        name : str
            The dataset.
        """
        dataset = self.sampled[name]
        pool, folder = self.settings.pools[dataset.pool], self.study.dataset_folder
        settings = dataset.model_dump(
            mode="json", exclude_unset=True, exclude={"kind", "pool", "start_from"}
        )
        tables = {key: getattr(self, key).file(dataset=name) for key in _RECORDS}
        return [
            "--name", name,
            *self._sets(pool),
            "--against", *map(folder, pool.against),
            *_flags(self._tables(name)),
            "--settings", json.dumps(settings, sort_keys=True),
            "--output", folder(name), *_flags(tables),
        ]  # fmt: skip

    def _sets(self, pool: PoolSettings) -> list[str]:
        names = {"candidates": pool.candidates, "original": pool.original}
        return _flags({key: self.study.dataset_folder(name) for key, name in names.items()})

    def _tables(self, name: str) -> dict[str, str]:
        """Tables that sampling reads, by the option that names them."""
        dataset = self.sampled[name]
        pool = self.settings.pools[dataset.pool]
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
