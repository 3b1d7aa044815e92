"""Checks before the first job.

Names in the profile and names that studies share are checked always; the user's images only before
jobs start, as a dry run does not need them.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from matcheval.errors import ErrorCollector, InputError, check_known
from matcheval.study.checks import check_custom_files
from matcheval.study.stored import (
    check_links,
    check_made_with,
    check_restored,
    check_shared_names,
    record_made_with,
    record_shared_names,
)
from matcheval.study.study import Study

# Rules of which a study may have fewer, and that a profile may name nevertheless.
_NUMBERED = re.compile(r"(train|predict)_models_\d+")

# Options of runs without jobs, and of the tests of single rules that Snakemake generates.
_UNCHECKED = {"--unlock", "--allowed-rules"}


@contextmanager
def with_message_only() -> Iterator[None]:
    """Turn an `InputError` of the block into a `WorkflowError` with its message alone."""
    try:
        yield
    except InputError as error:
        raise WorkflowError(str(error)) from None


class Preflight:
    """Checks before a run's first job, and records of what its results come from."""

    def __init__(self, workflow: Any, study: Study, configuration: Mapping[str, Any]) -> None:
        self._workflow, self._study, self._configuration = workflow, study, configuration

    def on_load(self, is_module: bool) -> None:
        """Check what needs no job, once all rules are read; only warn of missing custom images."""
        if self._workflow.exec_mode != ExecMode.DEFAULT or _UNCHECKED & {*sys.argv}:
            return  # this process runs a job of a run that is already checked, or no job
        with with_message_only():
            if not is_module:
                self._check_profile()
            check_shared_names(self._study)
            check_made_with(self._study, self._configuration)
            check_links(self._study)
        try:
            check_custom_files(self._study)
        except InputError as error:
            logger.warning(f"Required before jobs can run: {error}")

    def on_start(self) -> None:
        """Before jobs start, check custom images and restored files; record names and settings."""
        with with_message_only():
            check_custom_files(self._study)
            check_restored(self._study)
            record_shared_names(self._study)
            record_made_with(self._study, self._configuration)

    def on_success(self, began: float, has_report: bool) -> None:
        """Record that all results are of this study, after a run that has made the report.

        A study without report has predictions only, which tell what they were made from.
        """
        page = Path(self._study.report_page)
        if not has_report or (page.is_file() and page.stat().st_mtime >= began):
            record_made_with(self._study, self._configuration, is_complete=True)

    def _check_profile(self) -> None:
        """Check that the profile and the command line name rules that exist."""
        settings, problems = self._workflow.resource_settings, ErrorCollector()
        rules = sorted(rule.name for rule in self._workflow.rules)
        named = {
            "set-resources": settings.overwrite_resources,
            "set-threads": settings.overwrite_threads,
            "groups": self._workflow.group_settings.overwrite_groups,
        }
        for option, names in named.items():
            with problems.collected():
                fixed = [name for name in names if not _NUMBERED.fullmatch(name)]
                check_known("rule", fixed, rules, field=option)
        problems.raise_any()
