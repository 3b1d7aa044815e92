"""Checks before the first job.

Names in the profile and names that studies share are checked always; the user's images only before
jobs start, as a dry run does not need them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from matcheval.errors import ErrorCollector, InputError, check_known
from matcheval.study.checks import check_custom_images
from matcheval.study.stored import check_shared_names, record_shared_names
from matcheval.study.study import Study

# Rules that not every study has, and that a profile may name nevertheless: of saved pairs.
_RULES_OF_SOME_STUDIES = ("match_and_save_pairs",)


@contextmanager
def with_message_only() -> Iterator[None]:
    """An `InputError` ends the run with its message."""
    try:
        yield
    except InputError as error:
        raise WorkflowError(str(error)) from None


class Preflight:
    """The checks of one run."""

    def __init__(self, workflow: Any, study: Study) -> None:
        self._workflow, self._study = workflow, study

    def on_load(self, is_module: bool) -> None:
        """Run the checks that are possible once the rules have been read."""
        if self._workflow.exec_mode != ExecMode.DEFAULT:
            return  # this process runs a job of a run that is already checked
        with with_message_only():
            if not is_module:
                self._check_profile()
            check_shared_names(self._study)
        try:
            check_custom_images(self._study)
        except InputError as error:
            logger.warning(f"Required before jobs can run: {error}")

    def on_start(self) -> None:
        """Run the checks that are possible once jobs are about to start."""
        with with_message_only():
            check_custom_images(self._study)
            record_shared_names(self._study)

    def _check_profile(self) -> None:
        """Check names of rules in the profile and on the command line."""
        settings, problems = self._workflow.resource_settings, ErrorCollector()
        known = sorted([*(rule.name for rule in self._workflow.rules), *_RULES_OF_SOME_STUDIES])
        given = {
            "set-resources": settings.overwrite_resources,
            "set-threads": settings.overwrite_threads,
            "groups": self._workflow.group_settings.overwrite_groups,
        }
        for option, names in given.items():
            with problems.collected():
                check_known("rule", names, known, field=option)
        problems.raise_any()
