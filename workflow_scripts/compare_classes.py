"""Rule compare_classes: make sure that both sets of a pair have the same classes, in one order."""

from pathlib import Path

from matcheval.datasets.folders import read_description
from matcheval.datasets.label_spaces import check_same_classes
from matcheval.execution.entry_points import run_script
from matcheval.io.files import whole_file


def main(*, original: str, replication: str, output: str) -> None:
    """Compare two descriptions, and write the classes, one to a line."""
    described = [read_description(Path(file).parent) for file in (original, replication)]
    check_same_classes({one["name"]: one["classes"] for one in described})
    with whole_file(output) as partial:
        partial.write_text("\n".join(described[0]["classes"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        original=snakemake.input.original,
        replication=snakemake.input.replication,
        output=snakemake.output[0],
    )
