"""Building the warehouses of a study: jobs from the user's images to datasets and documents."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from matcheval.datasets.kind import DatasetKind, PixelFormat
from matcheval.errors import InputError, check_known
from matcheval.settings import Count, Name, PathText, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import BuiltDataset, Study
from matcheval.warehouse import DOCUMENTS, WAREHOUSE_VERSION, manifest
from matcheval.warehouse.sets import reading_state, reference_state
from matcheval.warehouse.settings import read_warehouse, reference_settings


class WarehouseSet(DatasetKind):
    """A set of a warehouse, which a suite names by `warehouse`."""

    kind: Literal["warehouse_set"]
    warehouse: PathText = Field(description="The warehouse's file (docs/datasets.md)")
    set: Name = Field(description="Name of the set")
    side: Count = Field(32, description="Height and width of the images, in pixels")

    @property
    def pixel_format(self) -> PixelFormat:
        """RGB images of this side."""
        return PixelFormat(self.side)


class WarehouseAnalysisSettings(Settings):
    """Warehouses have their settings in files of their own."""


class Warehouse(Analysis):
    """Builds the datasets of kind `warehouse_set`, and documents their warehouses."""

    name: ClassVar[str] = "warehouse"
    Settings: ClassVar[type[WarehouseAnalysisSettings]] = WarehouseAnalysisSettings
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {"warehouse_set": WarehouseSet}

    def __init__(self, settings: WarehouseAnalysisSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.folder = f"{study.results}/warehouses/{{warehouse}}"
        self.images = Artifact(f"{self.folder}/sets/{{set}}/images", (".parquet",))
        self.documents = [f"{self.folder}/{name}" for name in DOCUMENTS]

    @cached_property
    def exported(self) -> dict[str, WarehouseSet]:
        """The study's datasets that are built by a warehouse, by name."""
        return {
            name: WarehouseSet.model_validate({"kind": spec.kind, **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "warehouse_set"
        }

    @cached_property
    def used(self) -> dict[str, manifest.Warehouse]:
        """The study's warehouses, by name."""
        warehouses: dict[str, manifest.Warehouse] = {}
        for file in dict.fromkeys(dataset.warehouse for dataset in self.exported.values()):
            used = manifest.Warehouse(read_warehouse(file), file)
            name = used.settings.warehouse
            if other := warehouses.get(name):
                problem, remedy = "is the name of two warehouses", f"Rename that of {other.file}"
                raise InputError(f"'{name}' {problem}", file=file, remedy=remedy)
            warehouses[name] = used
        return warehouses

    def check(self) -> None:
        """Check the files of the warehouses, and the names of their sets."""
        for used in self.used.values():
            assert used.reviews is not None  # read once, so that its errors are told now
        for name, dataset in self.exported.items():
            field = f"datasets.{name}.set"
            sets = self._of(dataset).sets
            check_known("set", [dataset.set], sets, file="configuration", field=field)

    @property
    def targets(self) -> list[str]:
        """The sets and documents of the warehouses."""
        sets = [file for name in self.exported for file in self.study.dataset_inputs(name)]
        documents = [f.replace("{warehouse}", name) for name in self.used for f in self.documents]
        return [*sets, *documents]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The datasets that warehouses build."""
        return {name: BuiltDataset((), WAREHOUSE_VERSION) for name in self.exported}

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Warehouses, whose results studies share."""
        used = self.used.items()
        return {"warehouse": {name: w.settings.model_dump(mode="json") for name, w in used}}

    @property
    def sets(self) -> list[str]:
        """Names of the sets of all warehouses."""
        return [name for used in self.used.values() for name in used.sets]

    @property
    def references(self) -> list[str]:
        """Names of the sets that warehouses are compared with."""
        return [name for used in self.used.values() for name in used.settings.against]

    def _place(self, used: manifest.Warehouse) -> list[str]:
        folder = self.folder.replace("{warehouse}", used.settings.warehouse)
        return ["--warehouse", used.file, "--folder", folder]

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the options that name a warehouse and the folder of its results."""
        return self._place(self.used[wildcards.warehouse])

    def published(self, wildcards: Wildcards) -> list[str]:
        """Return the names of the downloads of a set that a warehouse is compared with."""
        block = self.used[wildcards.warehouse].settings.against[wildcards.compared]
        return list(reference_settings(wildcards.compared, block).published_files)

    def read_state(self, wildcards: Wildcards) -> Any:
        """Return what the reading of a set depends on."""
        used = self.used[wildcards.warehouse]
        return reading_state(used.sets[wildcards.set], used.settings)

    def reference_state(self, wildcards: Wildcards) -> Any:
        """Return what the hashes of a set to compare with depend on."""
        return reference_state(wildcards.compared, self.used[wildcards.warehouse].settings)

    def search_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what a search for duplicates depends on."""
        used = self.used[wildcards.warehouse]
        return [used.settings.duplicates.distance, list(used.sets), WAREHOUSE_VERSION]

    def decide_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what decisions on a set depend on."""
        used, name = self.used[wildcards.warehouse], wildcards.set
        chosen = used.settings.model_dump(
            mode="json", include={"duplicates", "review", "licences"},
            exclude={"review": {"decisions"}},
        )  # fmt: skip
        images = used.sets[name]
        about = [images.group, images.source, images.style, images.colour]
        return [used.reviews[name].state, chosen, about, WAREHOUSE_VERSION]

    def export_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the options that export a set as a dataset."""
        dataset = self.exported[wildcards.dataset]
        return [
            *self._place(self._of(dataset)), "--name", dataset.set, "--side", str(dataset.side),
            "--output", self.study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    def export_input(self, wildcards: Wildcards) -> str:
        """Return the table of the images that are exported."""
        dataset = self.exported[wildcards.dataset]
        return self.images.file(warehouse=self._of(dataset).settings.warehouse, set=dataset.set)

    def export_state(self, wildcards: Wildcards) -> list[Any]:
        """Return what an exported set depends on."""
        settings = self._of(self.exported[wildcards.dataset]).settings
        return [settings.export.fit, list(settings.class_names), WAREHOUSE_VERSION]

    def document_state(self, wildcards: Wildcards) -> Any:
        """Return what the documents of a warehouse depend on."""
        return self.used[wildcards.warehouse].settings.model_dump(mode="json")

    def _of(self, dataset: WarehouseSet) -> manifest.Warehouse:
        return next(used for used in self.used.values() if used.file == dataset.warehouse)
