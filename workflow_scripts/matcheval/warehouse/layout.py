"""Names of the documents of a warehouse, without what writes them."""

TABLE_SUFFIXES = (".parquet", ".csv", ".md")
_TABLES = (
    "overview", "sets", "classes", "origins", "prompts", "steps", "warnings", "problems", "noise",
    "agreement",
)  # fmt: skip
FIGURE_SUFFIXES = (".png", ".pdf")
# Files that are written always; the manifest of a suite, for exports of a build without a study,
# is written for each of its sides.
DOCUMENTS = (
    "images.parquet", "NOTICE.md", "datasheet.md",
    *(f"tables/{name}{suffix}" for name in _TABLES for suffix in TABLE_SUFFIXES),
    *(f"figures/{name}{suffix}" for name in ("classes", "origins") for suffix in FIGURE_SUFFIXES),
)  # fmt: skip
