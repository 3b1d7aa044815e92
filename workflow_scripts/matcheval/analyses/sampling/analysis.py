"""Sampling new test sets from pools; studies in a results folder share pools and sets."""

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
from matcheval.errors import check_known, configuration_error
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import BuiltDataset, Study
from matcheval.study.work import check_one_size


class Sampling(Analysis):
    """Build the datasets of kind `sampled`, which are drawn from pools of candidates."""

    name: ClassVar[str] = "sampling"
    Settings: ClassVar[type[SampledSettings]] = SampledSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"sampled": SampledDataset}
    settings: SampledSettings

    def __init__(self, settings: SampledSettings, study: Study) -> None:
        super().__init__(settings, study)
        pool, dataset = f"{study.results}/pools/{{pool}}", f"{study.results}/sampling/{{dataset}}"
        self.annotations = Artifact(f"{pool}/annotations", (".parquet",))
        self.frequencies = Artifact(f"{pool}/frequencies", (".parquet",))
        self.records = {
            key: Artifact(f"{dataset}/{key}", (".parquet",))
            for key in ("provenance", "excluded", "strata")
        }

    @cached_property
    def sampled(self) -> dict[str, SampledDataset]:
        """The study's datasets of kind `sampled`, by name."""
        return {
            name: SampledDataset.model_validate({"kind": "sampled", **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "sampled"
        }

    def check(self) -> None:
        """Check names, choices and files of pools and sampled datasets."""
        for name, pool in self.settings.pools.items():
            if pool.simulate is not None and pool.simulate.compare_size is None:
                field = self.field("pools", name, "simulate")
                self._check_one_size((pool.candidates, pool.original), field)
            for key, path in pool.custom_files.items():
                self.check_file(path, self.field("pools", name, key))
        for name, sampled in self.sampled.items():
            self._check_sampled(name, sampled)

    def _check_one_size(self, names: Iterable[str], field: str) -> None:
        for name in names:
            check_one_size(self.study, name, field=field, remedy="Add 'compare_size: 256'")

    def _check_sampled(self, name: str, dataset: SampledDataset) -> None:
        """Check that a dataset's pool exists, and has what its strategy and comparisons need."""
        field, pools = f"datasets.{name}", self.settings.pools
        check_known("pool", [dataset.pool], pools, file="configuration", field=f"{field}.pool")
        pool = pools[dataset.pool]
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
        if dataset.max_distance is not None and dataset.compare_size is None:
            self._check_one_size(pool.sets, field)
        if dataset.start_from is not None:
            others = [other for other in self.sampled if other != name]
            check_known(
                "other sampled set", [dataset.start_from], others,
                file="configuration", field=f"{field}.start_from",
            )  # fmt: skip

    @property
    def targets(self) -> list[str]:
        """Files of the tables that record how the sampled sets that are evaluated were drawn."""
        names = [name for name in self.sampled if name in self.study.evaluated]
        return [file for record in self.records.values() for file in record.expand(dataset=names)]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The datasets to sample, by name."""
        built = {}
        for name, dataset in self.sampled.items():
            pool = self.settings.pools.get(dataset.pool)
            provenance = self.records["provenance"].file(dataset=name)
            built[name] = BuiltDataset(
                sources=tuple(pool.sets) if pool else (),
                version=SAMPLING_VERSION,
                selection_frequencies=provenance if pool and pool.has_annotations else "",
            )
        return built

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Settings of the pools, whose annotations and frequencies studies share, by name."""
        pools = self.settings.pools.items()
        return {"pool": {name: pool.model_dump(mode="json") for name, pool in pools}}

    def tables_of_dataset(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the tables that the sampling of a dataset reads."""
        return list(self._table_options(wildcards.dataset).values())

    def simulate_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options of the job that simulates annotations of a pool."""
        pool = self.settings.pools[wildcards.pool]
        simulate = pool.simulate.model_dump(exclude_none=True) if pool.simulate else {}
        return _command_line({**self._folder_options(pool), **simulate})

    def count_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options of the job that counts the annotations of a pool."""
        pool = self.settings.pools[wildcards.pool]
        return _command_line({**self._folder_options(pool), "repeated": pool.repeated})

    def sample_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options of the job that samples a dataset."""
        name = wildcards.dataset
        dataset = self.sampled[name]
        pool, folder = self.settings.pools[dataset.pool], self.study.dataset_folder
        settings = dataset.model_dump(
            mode="json", exclude_defaults=True, exclude={"kind", "pool", "start_from"}
        )
        return _command_line({
            "name": name,
            **self._folder_options(pool),
            "against": [folder(other) for other in pool.against],
            **self._table_options(name),
            "settings": json.dumps(settings, sort_keys=True),
            "output": folder(name),
            **{key: record.file(dataset=name) for key, record in self.records.items()},
        })  # fmt: skip

    def _folder_options(self, pool: PoolSettings) -> dict[str, str]:
        """Return the folders of a pool's candidates and original set, by option."""
        folder = self.study.dataset_folder
        return {"candidates": folder(pool.candidates), "original": folder(pool.original)}

    def _table_options(self, name: str) -> dict[str, str]:
        """Return the files of tables that the sampling of a dataset reads, by option."""
        dataset = self.sampled[name]
        pool = self.settings.pools[dataset.pool]
        tables = {key: path for key, path in pool.custom_files.items() if key != "annotations"}
        if pool.has_annotations:
            tables["frequencies"] = self.frequencies.file(pool=dataset.pool)
        if dataset.start_from is not None:
            tables["previous"] = self.records["provenance"].file(dataset=dataset.start_from)
        return tables


def _command_line(options: Mapping[str, Any]) -> list[str]:
    """Return options as the words of a command line, such as `--per-class 10`."""
    words = []
    for key, value in options.items():
        words.append(f"--{key.replace('_', '-')}")
        words += value if isinstance(value, list) else [str(value)]
    return words
