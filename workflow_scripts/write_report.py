"""Rule write_report: the report of a study, one HTML file."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from matcheval.execution.entry_points import run_script
from matcheval.io.files import atomic_file
from matcheval.report.pages import render_report, study_provenance
from matcheval.report.sections import Section


def main(
    *,
    study: str,
    sections: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    asked: str,
    models: Mapping[str, Mapping[str, str]],
    datasets: Mapping[str, Mapping[str, str]],
    captions: Mapping[str, str],
    files: Sequence[Path],
    page: Path,
) -> None:
    """Write the report of a study."""
    read = TypeAdapter(list[Section]).validate_python(sections)
    titled = [
        replace(
            one,
            shown=tuple(
                replace(file, caption=captions.get(file.caption, "")) for file in one.shown
            ),
        )
        for one in read
    ]
    tables = [path for path in files if path.suffix == ".parquet"]
    provenance = study_provenance(asked, models, datasets, tables)
    text = render_report(f"Study {study}", titled, provenance, notes)
    with atomic_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    logging.info("%d sections, %d bytes", len(sections), len(text))


if __name__ == "__main__":
    run_script(main, snakemake)
