"""Snakemake's records of results, in the folders that hold these: see matcheval/io/records.py."""

import json
import re
from pathlib import Path
from typing import Any, ClassVar

from snakemake.logging import logger
from snakemake.persistence import MetadataRecord
from snakemake.persistence.file import FilePersistence

from matcheval.io.records import RESULTS, Recorded, append_record, read_records


class ResultRecords(FilePersistence):
    """Records of results beside them; of other files, and of unfinished jobs, as Snakemake does."""

    results: ClassVar[str]  # the folder of all results, as it stands in their paths
    is_main: ClassVar[bool]  # whether this process plans the run, and is no job of it

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._folders: dict[Path, dict[str, Recorded]] = {}
        self._has_warned = False
        self._here = json.dumps(f"{self.results}/", ensure_ascii=False)[1:-1]
        # Not as a part of a longer path or word.
        self._paths = re.compile(rf"(?<![\w./-]){re.escape(self._here)}")

    def metadata(self, target: Any) -> MetadataRecord | None:
        """Return the record of a result, for planning; warn once if one has none."""
        record = super().metadata(target)
        if record is None and self.is_main and not self._has_warned and self._is_made(target):
            self._has_warned = True
            logger.warning(
                f"Warning: of {target}, and perhaps of others, it is not recorded what it was made "
                "from, as of results of version 0.2 that were moved: changed settings and code are "
                "not noticed there. Add --forceall --touch to the command to accept all results as "
                "they are, or --forceall alone to make them again."
            )
        return record

    def restore_output(self, path: Path) -> bool:
        """Restore an output in place of one that may be another user's."""
        if self._get_backup_path(path).is_file():
            path.unlink(missing_ok=True)
        return super().restore_output(path)

    def _is_made(self, target: Any) -> bool:
        """Whether a result is there, and not what a killed run has left."""
        return Path(target).exists() and not self._filter_incomplete_keys([self._get_key(target)])

    def _read_record(self, key: str) -> MetadataRecord | None:
        folder, name = self._folder(key), Path(key).name
        if folder and (recorded := self._records(folder).get(name)):
            text = recorded.record.replace(RESULTS, self._here)
            return MetadataRecord.model_validate_json(text)
        return super()._read_record(key)

    def _write_record(self, key: str, record: MetadataRecord) -> None:
        if folder := self._folder(key):
            text = self._paths.sub(RESULTS, record.model_dump_json())
            name = Path(key).name
            self._records(folder)[name] = append_record(folder, name, text)
            super()._delete_record(key)  # of version 0.2
        else:
            super()._write_record(key, record)

    def _delete_record(self, key: str) -> bool:
        folder, name = self._folder(key), Path(key).name
        if folder and self._records(folder).pop(name, None):
            append_record(folder, name, "")
            return True
        return super()._delete_record(key)

    def _folder(self, key: str) -> Path | None:
        """Return the folder of a result; None for a file that is none."""
        return Path(key).parent if key.startswith(f"{self.results}/") else None

    def _records(self, folder: Path) -> dict[str, Recorded]:
        """Return the records of a folder by name, read once."""
        if folder not in self._folders:
            self._folders[folder] = read_records(folder)
        return self._folders[folder]
