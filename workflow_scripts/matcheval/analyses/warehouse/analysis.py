"""Building the warehouses of a study: jobs from the user's images to datasets and documents."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from matcheval.analyses.warehouse.settings import WarehouseAnalysisSettings, WarehouseSet
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import InputError, unknown_name_error
from matcheval.execution import analysis_resources, resources
from matcheval.execution.workloads import ImageSet
from matcheval.study.analysis import Analysis
from matcheval.study.contents import BuiltDataset
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study
from matcheval.warehouse import WAREHOUSE_VERSION
from matcheval.warehouse.inputs import find_sets
from matcheval.warehouse.layout import DOCUMENTS
from matcheval.warehouse.settings import (
    WarehouseSettings,
    read_warehouse,
    reference_settings,
)
from matcheval.warehouse.source_sets import SourceSet
from matcheval.warehouse.states import Reviews, read_reviews, reading_state, reference_state

# Collected images of a set, of unknown number and size: as large as the largest of
# CIFAR-10-Warehouse, as photographs.
_A_SET = ImageSet(images=8000, side=500, channels=3, encoded=True)


class UsedWarehouse:
    """A warehouse that a suite of the study names."""

    def __init__(self, file: str) -> None:
        self.file = file

    @cached_property
    def settings(self) -> WarehouseSettings:
        """What the file says."""
        return read_warehouse(self.file)

    @cached_property
    def sets(self) -> dict[str, SourceSet]:
        """The sets of images."""
        return find_sets(self.settings)

    @cached_property
    def reviews(self) -> Reviews:
        """What people decided."""
        return read_reviews(self.settings, self.sets)


class Warehouse(Analysis):
    """Builds the datasets of kind `warehouse_set`, and documents their warehouses."""

    name: ClassVar[str] = "warehouse"
    Settings: ClassVar[type[WarehouseAnalysisSettings]] = WarehouseAnalysisSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"warehouse_set": WarehouseSet}

    def __init__(self, settings: WarehouseAnalysisSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.folder = f"{study.results}/warehouses/{{warehouse}}"
        self.read = Artifact(f"{self.folder}/read/{{set}}", (".parquet",))
        self.hashes = Artifact(f"{self.folder}/references/{{compared}}", (".parquet",))
        self.duplicates = Artifact(f"{self.folder}/duplicates", (".parquet",))
        self.images = Artifact(f"{self.folder}/sets/{{set}}/images", (".parquet",))
        self.documents = [f"{self.folder}/{name}" for name in DOCUMENTS]

    @cached_property
    def exported(self) -> dict[str, WarehouseSet]:
        """The datasets that are sets of warehouses, by name."""
        return {
            name: WarehouseSet.model_validate({"kind": spec.kind, **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "warehouse_set"
        }

    @cached_property
    def used(self) -> dict[str, UsedWarehouse]:
        """The warehouses by name."""
        found: dict[str, UsedWarehouse] = {}
        for dataset in self.exported.values():
            one = UsedWarehouse(dataset.warehouse)
            other = found.setdefault(one.settings.warehouse, one)
            if other.file != one.file:
                raise InputError(
                    f"'{one.settings.warehouse}' is the name of two warehouses", file=one.file,
                    remedy=f"Rename one; the other is in {other.file}",
                )  # fmt: skip
        return found

    def check(self) -> None:
        """Check the files of the warehouses, and the names of their sets."""
        for used in self.used.values():
            assert used.reviews is not None  # read once, so that its errors are told now
        for name, dataset in self.exported.items():
            sets = self._of(dataset).sets
            if dataset.set not in sets:
                raise unknown_name_error(
                    "set", dataset.set, sets, file="configuration", field=f"datasets.{name}.set"
                )

    @property
    def targets(self) -> list[str]:
        """The sets and documents of the warehouses."""
        sets = [file for name in self.exported for file in self.study.dataset_files(name)]
        documents = [f.replace("{warehouse}", name) for name in self.used for f in self.documents]
        return [*sets, *documents]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The sets of warehouses."""
        return {name: BuiltDataset((), WAREHOUSE_VERSION) for name in self.exported}

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Warehouses, whose results studies share."""
        return {
            "warehouse": {
                name: used.settings.model_dump(mode="json") for name, used in self.used.items()
            }
        }

    @property
    def set_names(self) -> list[str]:
        """Names of all sets."""
        return [name for used in self.used.values() for name in used.sets]

    @property
    def compared_names(self) -> list[str]:
        """Names of all sets that warehouses are compared with."""
        return [name for used in self.used.values() for name in used.settings.against]

    # --- inputs, parameters and arguments of jobs

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments that all jobs have."""
        return [
            "--warehouse", self.used[wildcards.warehouse].file,
            "--folder", self.folder.replace("{warehouse}", wildcards.warehouse),
        ]  # fmt: skip

    def read_state(self, wildcards: Wildcards) -> str:
        """Return what the table of a set's images depends on."""
        used = self.used[wildcards.warehouse]
        return reading_state(used.sets[wildcards.set], used.settings)

    def hash_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the published files that a compared set is read from."""
        block = self.used[wildcards.warehouse].settings.against[wildcards.compared]
        files = reference_settings(wildcards.compared, block).published_files
        return [f"{self.study.results}/downloads/{file}" for file in files]

    def hash_state(self, wildcards: Wildcards) -> str:
        """Return what the hashes of a compared set depend on."""
        return reference_state(wildcards.compared, self.used[wildcards.warehouse].settings)

    def search_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the tables of all images that are compared."""
        used, name = self.used[wildcards.warehouse], wildcards.warehouse
        read = self.read.expand(warehouse=name, set=list(used.sets))
        return read + self.hashes.expand(warehouse=name, compared=list(used.settings.against))

    def search_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what the duplicates depend on besides the images."""
        used = self.used[wildcards.warehouse]
        return [used.settings.duplicates.distance, list(used.sets), WAREHOUSE_VERSION]

    def decide_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what becomes of a set's images depends on: decisions on them, and settings."""
        used, of = self.used[wildcards.warehouse], wildcards.set
        chosen = used.settings.model_dump(
            mode="json", include={"duplicates", "review", "licences"},
            exclude={"review": {"decisions"}},
        )  # fmt: skip
        source = used.sets[of]
        about = [source.group, source.source, source.style, source.colour]
        return [used.reviews.state(of), chosen, about, WAREHOUSE_VERSION]

    def export_inputs(self, wildcards: Wildcards) -> str:
        """Return the manifest of a set."""
        dataset = self.exported[wildcards.dataset]
        name = self._of(dataset).settings.warehouse
        return self.images.file(warehouse=name, set=dataset.set)

    def export_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of an export."""
        dataset = self.exported[wildcards.dataset]
        used = self._of(dataset)
        folder = self.folder.replace("{warehouse}", used.settings.warehouse)
        return [
            "--warehouse", used.file, "--folder", folder, "--name", dataset.set,
            "--side", str(dataset.side), "--output", self.study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    def export_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what an export depends on besides the manifest."""
        dataset = self.exported[wildcards.dataset]
        settings = self._of(dataset).settings
        return [settings.export.fit, list(settings.class_names), WAREHOUSE_VERSION]

    def document_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of all sets, and the duplicates."""
        name = wildcards.warehouse
        manifests = self.images.expand(warehouse=name, set=list(self.used[name].sets))
        return [self.duplicates.file(warehouse=name), *manifests]

    def document_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what the documents depend on besides the manifests."""
        settings = self.used[wildcards.warehouse].settings
        return [settings.model_dump(mode="json")]

    @property
    def resource_requests(self) -> Mapping[str, Callable[[Any], resources.ResourceRequest]]:
        """As if sets and warehouses were large: their images are not counted for a plan."""
        decoding = resources.of_making(_A_SET, threads=resources.MANY_CORES)
        large = ("read_warehouse_set", "hash_warehouse_reference", "export_warehouse_set")
        tables = ("search_warehouse", "decide_warehouse_set", "document_warehouse")
        return {
            **dict.fromkeys(large, lambda wildcards: decoding),
            **dict.fromkeys(tables, lambda wildcards: analysis_resources.WAREHOUSE_TABLES),
        }

    def _of(self, dataset: WarehouseSet) -> UsedWarehouse:
        return next(used for used in self.used.values() if used.file == dataset.warehouse)
