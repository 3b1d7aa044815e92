"""The command line of the search for near duplicates."""

import argparse

from matcheval.errors import InputError
from matcheval.io.tables import check_suffix
from matcheval.io.terminal import add_json, json_rows, print_json


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search."""
    parser.add_argument("queries", metavar="TEST", help="folder of the dataset to search for")
    parser.add_argument(
        "references", metavar="TRAIN", help="folder of the dataset to search in; may be TEST"
    )
    parser.add_argument(
        "--neighbours", type=int, default=10, metavar="N",
        help="nearest images to list for each image (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--compare-size", type=int, metavar="PIXELS",
        help="resize images to squares of this side first: needed for image files",
    )  # fmt: skip
    parser.add_argument("--no-ssim", action="store_true", help="compute ℓ2 distances only")
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="table of the nearest images (.parquet, .csv)",
    )
    parser.add_argument("--sheet", metavar="FILE", help="contact sheet (.png, .pdf)")
    parser.add_argument(
        "--rows",
        type=int,
        default=10,
        help="rows of the sheet; ten fit on a page (default: %(default)s)",
    )
    add_json(parser)
    parser.set_defaults(run=run_search)


def run_search(arguments: argparse.Namespace) -> None:
    """Search, write the table, and draw the contact sheet if requested."""
    from matcheval.analyses.near_duplicates.images import labelled_pixels
    from matcheval.analyses.near_duplicates.search import find_near_duplicates
    from matcheval.datasets.folders import read_dataset
    from matcheval.figures.saving import check_figure, save_figure
    from matcheval.io.tables import write_table

    check_suffix(arguments.output)
    if arguments.sheet is not None:
        check_figure(arguments.sheet)
    for option in ("neighbours", "rows"):
        if getattr(arguments, option) < 1:
            raise InputError(
                f"--{option} is {getattr(arguments, option)}", remedy="Give at least 1"
            )
    sets = [read_dataset(folder) for folder in (arguments.queries, arguments.references)]
    queries, references = (labelled_pixels(one, arguments.compare_size) for one in sets)
    table = find_near_duplicates(
        queries, references, arguments.neighbours, ssim=not arguments.no_ssim
    )
    write_table(table, arguments.output)
    if arguments.sheet is not None:
        from matcheval.analyses.near_duplicates.figures import plot_near_duplicates

        figure = plot_near_duplicates(table.to_pandas(), sets[0], sets[1], arguments.rows)
        save_figure(figure, arguments.sheet)
    if arguments.json:
        written = [path for path in (arguments.output, arguments.sheet) if path is not None]
        print_json({"neighbours": json_rows(table), "written": written})
