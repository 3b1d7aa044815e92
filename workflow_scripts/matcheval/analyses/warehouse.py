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
    """A set of a warehouse, exported as a dataset; suites name such sets by `warehouse`."""

    kind: Literal["warehouse_set"]
    warehouse: PathText = Field(description="The warehouse's file (docs/datasets.md)")
    set: Name = Field(description="Name of the set")
    side: Count = Field(32, description="Height and width of the images, in pixels")

    @property
    def pixel_format(self) -> PixelFormat:
        """RGB images, `side` pixels high and wide."""
        return PixelFormat(self.side)


class WarehouseAnalysisSettings(Settings):
    """No settings: warehouses have them in files of their own."""


class Warehouse(Analysis):
    """Build the datasets of kind `warehouse_set`, and document their warehouses."""

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
        """The study's datasets of kind `warehouse_set`, which warehouses export, by name."""
        return {
            name: WarehouseSet.model_validate({"kind": spec.kind, **spec.options})
            for name, spec in self.study.datasets.items()
            if spec.kind == "warehouse_set"
        }

    @cached_property
    def warehouses(self) -> dict[str, manifest.Warehouse]:
        """The warehouses of the study's datasets, by name; no two may have the same name."""
        warehouses: dict[str, manifest.Warehouse] = {}
        for file in dict.fromkeys(dataset.warehouse for dataset in self.exported.values()):
            warehouse = manifest.Warehouse(read_warehouse(file), file)
            name = warehouse.settings.warehouse
            if other := warehouses.get(name):
                problem, remedy = "is the name of two warehouses", f"Rename that of {other.file}"
                raise InputError(f"'{name}' {problem}", file=file, remedy=remedy)
            warehouses[name] = warehouse
        return warehouses

    def check(self) -> None:
        """Check the warehouses' files, and that they have the sets that datasets name."""
        for warehouse in self.warehouses.values():
            assert warehouse.reviews is not None  # read once, so that its errors are told now
        for name, dataset in self.exported.items():
            field = f"datasets.{name}.set"
            sets = self._warehouse_of(dataset).sets
            check_known("set", [dataset.set], sets, file="configuration", field=field)

    @property
    def targets(self) -> list[str]:
        """Files of the exported datasets, and the documents of their warehouses."""
        sets = [file for name in self.exported for file in self.study.dataset_inputs(name)]
        names = self.warehouses
        documents = [f.replace("{warehouse}", name) for name in names for f in self.documents]
        return [*sets, *documents]

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """The datasets that warehouses export, by name."""
        return {name: BuiltDataset((), WAREHOUSE_VERSION) for name in self.exported}

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Settings of the warehouses, whose results studies share, by name."""
        warehouses = self.warehouses.items()
        return {"warehouse": {name: w.settings.model_dump(mode="json") for name, w in warehouses}}

    @property
    def sets(self) -> list[str]:
        """Names of the sets of all warehouses."""
        return [name for w in self.warehouses.values() for name in w.sets]

    @property
    def references(self) -> list[str]:
        """Names of the sets against which warehouses are searched for duplicates."""
        return [name for w in self.warehouses.values() for name in w.settings.against]

    def _warehouse_options(self, warehouse: manifest.Warehouse) -> list[str]:
        folder = self.folder.replace("{warehouse}", warehouse.settings.warehouse)
        return ["--warehouse", warehouse.file, "--folder", folder]

    def arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options for a warehouse's file and the folder of its results."""
        return self._warehouse_options(self.warehouses[wildcards.warehouse])

    def downloads(self, wildcards: Wildcards) -> list[str]:
        """Return the names of the published files of a set that a warehouse is compared with."""
        block = self.warehouses[wildcards.warehouse].settings.against[wildcards.compared]
        return list(reference_settings(wildcards.compared, block).published_files)

    def read_state(self, wildcards: Wildcards) -> Any:
        """Return a digest that changes when a set has to be read again."""
        warehouse = self.warehouses[wildcards.warehouse]
        return reading_state(warehouse.sets[wildcards.set], warehouse.settings)

    def reference_state(self, wildcards: Wildcards) -> Any:
        """Return a digest that changes when a set to compare with has to be hashed again."""
        return reference_state(wildcards.compared, self.warehouses[wildcards.warehouse].settings)

    def search_state(self, wildcards: Wildcards) -> list[Any]:
        """Return the values that the search for duplicates depends on: a change repeats it."""
        warehouse = self.warehouses[wildcards.warehouse]
        return [warehouse.settings.duplicates.distance, list(warehouse.sets), WAREHOUSE_VERSION]

    def decide_state(self, wildcards: Wildcards) -> list[Any]:
        """Return the values that the decisions on a set depend on: a change repeats them."""
        warehouse, name = self.warehouses[wildcards.warehouse], wildcards.set
        chosen = warehouse.settings.model_dump(
            mode="json", include={"duplicates", "review", "licences"},
            exclude={"review": {"decisions"}},
        )  # fmt: skip
        images = warehouse.sets[name]
        about = [images.group, images.source, images.style, images.colour]
        return [warehouse.reviews[name].state, chosen, about, WAREHOUSE_VERSION]

    def export_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the command-line options of the job that exports a set as a dataset."""
        dataset = self.exported[wildcards.dataset]
        return [
            *self._warehouse_options(self._warehouse_of(dataset)), "--name", dataset.set,
            "--side", str(dataset.side),
            "--output", self.study.dataset_folder(wildcards.dataset),
        ]  # fmt: skip

    def export_input(self, wildcards: Wildcards) -> str:
        """Return the file of the table that says which images of a set are exported."""
        dataset = self.exported[wildcards.dataset]
        name = self._warehouse_of(dataset).settings.warehouse
        return self.images.file(warehouse=name, set=dataset.set)

    def export_state(self, wildcards: Wildcards) -> list[Any]:
        """Return the values that the export of a set depends on: a change repeats it."""
        settings = self._warehouse_of(self.exported[wildcards.dataset]).settings
        return [settings.export.fit, list(settings.class_names), WAREHOUSE_VERSION]

    def document_state(self, wildcards: Wildcards) -> Any:
        """Return the settings that a warehouse's documents depend on: a change repeats them."""
        return self.warehouses[wildcards.warehouse].settings.model_dump(mode="json")

    def _warehouse_of(self, dataset: WarehouseSet) -> manifest.Warehouse:
        return next(w for w in self.warehouses.values() if w.file == dataset.warehouse)
