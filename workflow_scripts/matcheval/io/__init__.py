"""Reading and writing files: tables, YAML, CSV, atomic writes, locks and provenance."""
