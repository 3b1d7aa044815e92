"""Write what is generated from the library: two schemas and two pages.

python docs/make_settings.py
"""

import json
from pathlib import Path

import make_json_schema
import make_tables

from matcheval.registry import ANALYSES
from matcheval.study.schema import json_schema, settings_page

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "rules" / "schemas" / "config.schema.json"
PAGE = ROOT / "docs" / "settings.md"
TABLES = ROOT / "docs" / "tables.md"
RESULTS = ROOT / "workflow_scripts" / "matcheval" / "results.schema.json"


def generated() -> dict[Path, str]:
    """Texts of the generated files."""
    schema = json.dumps(json_schema(ANALYSES), indent=2, ensure_ascii=False) + "\n"
    results = json.dumps(make_json_schema.schema(), indent=1, ensure_ascii=False) + "\n"
    return {
        SCHEMA: schema,
        RESULTS: results,
        PAGE: settings_page(ANALYSES),
        TABLES: make_tables.page(),
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
