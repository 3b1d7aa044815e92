"""Warehouses: from a query plan and the user's images to a reviewed, documented suite of sets."""

# Raised by hand when an edit changes what is built from the same images.
WAREHOUSE_VERSION = 1

TABLE_SUFFIXES = (".parquet", ".csv", ".md")
_TABLES = (
    "overview", "sets", "classes", "origins", "prompts", "steps", "warnings", "noise",
)  # fmt: skip
FIGURE_SUFFIXES = (".png", ".pdf")
# Files that are written always; the manifest of a suite, for exports of a build without a study,
# is written for each of its sides.
DOCUMENTS = (
    "images.parquet", "NOTICE.md",
    *(f"tables/{name}{suffix}" for name in _TABLES for suffix in TABLE_SUFFIXES),
    *(f"figures/{name}{suffix}" for name in ("classes", "origins") for suffix in FIGURE_SUFFIXES),
)  # fmt: skip
