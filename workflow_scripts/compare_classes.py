"""Rule compare_classes: check that both sets of a pair have the same classes in the same order."""

from pathlib import Path

from matcheval.datasets.folders import read_description
from matcheval.datasets.label_spaces import check_same_classes
from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file


def main(*, original: Path, replication: Path, classes: Path) -> None:
    """Check that two datasets have the same classes, and write the class names, one per line."""
    described = [read_description(file.parent) for file in (original, replication)]
    check_same_classes({one["name"]: one["classes"] for one in described})
    with atomic_file(classes) as partial:
        partial.write_text("\n".join(described[0]["classes"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_script(main, snakemake)
