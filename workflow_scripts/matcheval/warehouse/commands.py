"""Plan, build and review a warehouse of test sets, as the command `matched-eval warehouse` does."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.errors import InputError
from matcheval.io.tables import check_suffix, write_table
from matcheval.io.terminal import json_rows, print_text

if TYPE_CHECKING:
    from matcheval.warehouse.build import Build


def plan(
    warehouse: Path | None = None, *, file: Path | None = None, json: bool = False
) -> Mapping[str, Any]:
    """Write the query plan to a file, or print it as CSV.

    Parameters
    ----------
    warehouse : path-like
        Its YAML file (docs/datasets.md); CIFAR-10-Warehouse by default.
    file : path-like
        Table to write (.csv, .parquet); printed as CSV by default.
    """
    from matcheval.warehouse.sets import tabulate_plan
    from matcheval.warehouse.settings import read_warehouse

    if file is not None:
        check_suffix(file)
    settings = read_warehouse(warehouse)
    if not settings.plan:
        remedy = "Give groups of sets with style, sources and template (docs/datasets.md)"
        raise InputError("has no query plan", file=warehouse, field="plan", remedy=remedy)
    table = tabulate_plan(settings)
    if file is not None:
        write_table(table, file)
    elif not json:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        from matcheval.io.delimited_text import escape_formulas

        text = pa.BufferOutputStream()
        pa_csv.write_csv(escape_formulas(table), text)
        print_text(text.getvalue().to_pybytes().decode())
    return {"plan": json_rows(table), "written": [str(file)] if file else []}


def build(
    warehouse: Path, *, output: Path | None = None, workers: int | None = None,
    downloads: Path = Path("results/downloads"), json: bool = False,
) -> Mapping[str, Any]:  # fmt: skip
    """Build a warehouse, and print what each step found.

    Parameters
    ----------
    warehouse : path-like
        Its YAML file (docs/datasets.md).
    output : path-like, a folder
        Folder to write; by default results/warehouses/<name>.
    workers : int
        Processes; by default one per available core.
    downloads : path-like, a folder
        Folder of published files, where `against` names published sets.
    """
    from matcheval.warehouse.images import available_cores
    from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT

    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers} is not a number of processes")
    built = _open_build(warehouse, output)
    built.run(workers or available_cores(), downloads)
    sets, exported, folder = list(built.sets), built.exported, str(built.folder)
    if not json:
        images = IMAGES_SCHEMA.read(built.folder / "images.parquet").to_pandas()
        kept = (images["status"] == KEPT) & (images["reviewers"] > 0)
        unblurred = int((kept & (images["blurred"] == 0)).sum())
        print_text((built.folder / "tables" / "steps.md").read_text(encoding="utf-8"))
        print_text(f"\n{unblurred} reviewed images are kept without blurred boxes")
        print_text(f"\n{len(exported)} of {len(sets)} sets exported to {folder}\n")
    return {"folder": folder, "sets": sets, "exported": exported}


def worklist(
    warehouse: Path, *, to: Path, output: Path | None = None, pending: bool = False,
    json: bool = False,
) -> Mapping[str, Any]:  # fmt: skip
    """Write contact sheets of the images, and a table for reviewers to enter decisions in.

    Parameters
    ----------
    warehouse : path-like
        Its YAML file (docs/datasets.md).
    to : path-like, a folder
        Folder of the sheets.
    output : path-like, a folder
        Folder of the build; by default results/warehouses/<name>.
    pending : bool
        Only images that wait for a decision.
    """
    from matcheval.warehouse.documents import write_worklist
    from matcheval.warehouse.manifest import IMAGES_SCHEMA

    built = _open_build(warehouse, output)
    images = IMAGES_SCHEMA.read(built.folder / "images.parquet").to_pandas()
    n, file = write_worklist(built, images, to, pending_only=pending), to / "worklist.csv"
    if not json:
        print_text(f"{n} images to review: fill in {file}\n")
    return {"images": n, "written": [str(file)]}


def _open_build(warehouse: Path, output: Path | None) -> "Build":
    """Read a warehouse's file, for a build in `output` or else in results/warehouses/<name>."""
    from matcheval.warehouse.build import Build
    from matcheval.warehouse.settings import read_warehouse

    settings = read_warehouse(warehouse)
    return Build(settings, output or Path("results/warehouses") / settings.warehouse)
