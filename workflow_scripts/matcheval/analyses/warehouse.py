"""Building the warehouses of a study: jobs from the user's images to datasets and documents."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from matcheval.datasets.kind import DatasetKind, PixelFormat
from matcheval.errors import InputError, check_known
from matcheval.execution import resources
from matcheval.execution.sizes import ImageSet
from matcheval.settings import Count, Name, PathText, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.contents import BuiltDataset
from matcheval.study.rules import Artifact, Command, Wildcards
from matcheval.study.study import Study
from matcheval.warehouse import DOCUMENTS, WAREHOUSE_VERSION, manifest
from matcheval.warehouse.sets import reading_state, reference_state
from matcheval.warehouse.settings import read_warehouse, reference_settings

# Collected images of a set, of unknown number and size: as large as the largest of
# CIFAR-10-Warehouse, as photographs.
_A_SET = ImageSet(images=8000, side=500, channels=3, encoded=True)


class WarehouseSet(DatasetKind):
    """A set of a warehouse, which a suite names by `warehouse`."""

    kind: Literal["warehouse_set"]
    warehouse: PathText = Field(description="The warehouse's file (docs/warehouse.md)")
    set: Name = Field(description="Name of the set")
    side: Count = Field(32, description="Height and width of the images, in pixels")

    @property
    def pixel_format(self) -> PixelFormat:
        """RGB images of this side."""
        return PixelFormat(self.side)


class WarehouseAnalysisSettings(Settings):
    """Warehouses have their settings in files of their own."""


class UsedWarehouse(manifest.Warehouse):
    """A warehouse that a suite of the study names."""

    def __init__(self, file: str) -> None:
        super().__init__(read_warehouse(file))
        self.file = file


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
    def commands(self) -> list[Command]:
        """The steps of a build, as of large sets: images are not counted for a plan."""
        study, folder = self.study, self.folder
        decoding = resources.of_making(_A_SET, threads=resources.MANY_CORES)
        values = {
            "warehouse": self.used,
            "set": [name for used in self.used.values() for name in used.sets],
            "compared": [name for used in self.used.values() for name in used.settings.against],
        }

        def used(wildcards: Wildcards) -> UsedWarehouse:
            return self.used[wildcards.warehouse]

        def place(warehouse: UsedWarehouse) -> list[str]:
            name = warehouse.settings.warehouse
            return ["--warehouse", warehouse.file, "--folder", folder.replace("{warehouse}", name)]

        def step(name: str, message: str, *, images: bool, **options: Any) -> Command:
            """Declare a step; those that decode images take a job of four threads."""
            params = {"arguments": lambda w: place(used(w))} | options.pop("params")
            request = decoding if images else resources.WAREHOUSE_TABLES
            return Command(
                name=name, message=message, params=params, request=lambda wildcards: request,
                threads=4 if images else 1, **{"values": values} | options,
            )  # fmt: skip

        def published_files(wildcards: Wildcards) -> list[str]:
            block = used(wildcards).settings.against[wildcards.compared]
            files = reference_settings(wildcards.compared, block).published_files
            return [study.download(file) for file in files]

        def decide_state(wildcards: Wildcards) -> list[Any]:
            one, name = used(wildcards), wildcards.set
            chosen = one.settings.model_dump(
                mode="json", include={"duplicates", "review", "licences"},
                exclude={"review": {"decisions"}},
            )  # fmt: skip
            source = one.sets[name]
            about = [source.group, source.source, source.style, source.colour]
            return [one.reviews[name].state, chosen, about, WAREHOUSE_VERSION]

        def export_arguments(wildcards: Wildcards) -> list[str]:
            dataset = self.exported[wildcards.dataset]
            return [
                *place(self._of(dataset)), "--name", dataset.set, "--side", str(dataset.side),
                "--output", study.dataset_folder(wildcards.dataset),
            ]  # fmt: skip

        def export_input(wildcards: Wildcards) -> str:
            dataset = self.exported[wildcards.dataset]
            name = self._of(dataset).settings.warehouse
            return self.images.file(warehouse=name, set=dataset.set)

        def export_state(wildcards: Wildcards) -> list[Any]:
            settings = self._of(self.exported[wildcards.dataset]).settings
            return [settings.export.fit, list(settings.class_names), WAREHOUSE_VERSION]

        def search_state(wildcards: Wildcards) -> list[Any]:
            one = used(wildcards)
            return [one.settings.duplicates.distance, list(one.sets), WAREHOUSE_VERSION]

        return [
            step(
                "read_warehouse_set", "Reading the images of {wildcards.set}", images=True,
                command="curate read {params.arguments:q} --name {wildcards.set} "
                "--threads {threads}",
                output={"read": self.read},
                params={"state": lambda w: reading_state(used(w).sets[w.set], used(w).settings)},
            ),
            step(
                "hash_warehouse_reference",
                "Hashing {wildcards.compared}, which {wildcards.warehouse} is compared with",
                images=True,
                command="curate hash {params.arguments:q} --name {wildcards.compared} "
                "--downloads {params.downloads:q} --threads {threads}",
                input={"published": published_files}, output={"hashes": self.hashes},
                params={
                    "downloads": f"{study.results}/downloads",
                    "state": lambda w: reference_state(w.compared, used(w).settings),
                },
            ),
            step(
                "search_warehouse", "Searching {wildcards.warehouse} for duplicates", images=False,
                command="curate search {params.arguments:q}",
                input={
                    "read": lambda w: self.read.expand(warehouse=w.warehouse, set=used(w).sets),
                    "hashes": lambda w: self.hashes.expand(
                        warehouse=w.warehouse, compared=used(w).settings.against
                    ),
                },
                output={"duplicates": self.duplicates}, params={"state": search_state},
            ),
            step(
                "decide_warehouse_set", "Deciding on the images of {wildcards.set}", images=False,
                command="curate decide {params.arguments:q} --name {wildcards.set}",
                input={"read": self.read.file(), "duplicates": self.duplicates.file()},
                output={"images": self.images}, params={"state": decide_state},
            ),
            step(
                "export_warehouse_set", "Exporting {wildcards.dataset}", images=True,
                command="curate export {params.arguments:q} --threads {threads}",
                input={"images": export_input}, values={"dataset": self.exported},
                output={"dataset": study.dataset_files("{dataset}")},
                params={"arguments": export_arguments, "state": export_state},
            ),
            step(
                "document_warehouse", "Documenting {wildcards.warehouse}", images=False,
                command="curate document {params.arguments:q}",
                input={
                    "duplicates": self.duplicates.file(),
                    "images": lambda w: self.images.expand(warehouse=w.warehouse, set=used(w).sets),
                },
                output={"documents": self.documents},
                params={"state": lambda w: [used(w).settings.model_dump(mode="json")]},
            ),
        ]  # fmt: skip

    def _of(self, dataset: WarehouseSet) -> UsedWarehouse:
        return next(used for used in self.used.values() if used.file == dataset.warehouse)
