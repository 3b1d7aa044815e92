"""The command line of the search for near duplicates."""

import argparse

from matcheval.io.tables import check_suffix


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search."""
    parser.add_argument("queries", metavar="TEST", help="a dataset's folder")
    parser.add_argument(
        "references", metavar="TRAIN", help="folder of the set to search; TEST itself is allowed"
    )
    parser.add_argument("--neighbours", type=int, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--compare-size", type=int, metavar="PIXELS",
        help="bring images to squares of this side first: needed for image files",
    )  # fmt: skip
    parser.add_argument("--no-ssim", action="store_true", help="ℓ2 distances only")
    parser.add_argument(
        "--output", required=True, metavar="FILE", help="the neighbours (.parquet, .csv)"
    )
    parser.add_argument("--sheet", metavar="FILE", help="a contact sheet (.png, .pdf)")
    parser.add_argument("--rows", type=int, default=20, help="of the sheet (default: 20)")
    parser.set_defaults(run=run_search)


def run_search(arguments: argparse.Namespace) -> None:
    """Search, and draw the sheet on request."""
    from matcheval.analyses.near_duplicates.images import labelled_pixels
    from matcheval.analyses.near_duplicates.search import find_neighbours
    from matcheval.datasets.folders import read_dataset
    from matcheval.io.tables import write_table

    check_suffix(arguments.output)
    queries, references = (
        labelled_pixels(read_dataset(folder), arguments.compare_size)
        for folder in (arguments.queries, arguments.references)
    )
    table = find_neighbours(queries, references, arguments.neighbours, ssim=not arguments.no_ssim)
    write_table(table, arguments.output)
    if arguments.sheet is not None:
        from matcheval.analyses.near_duplicates.figures import plot_neighbours
        from matcheval.figures.saving import save_figure

        figure = plot_neighbours(table.to_pandas(), queries, references, arguments.rows)
        save_figure(figure, arguments.sheet)
