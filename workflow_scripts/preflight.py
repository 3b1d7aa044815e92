"""Checks before the first job.

Names in the profile and names that studies share are checked always; the user's images only before
jobs start, as a dry run does not need them; and whether a cluster can run the jobs before they are
submitted to it.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from matcheval.errors import InputError
from matcheval.execution.cluster import checks, slurm
from matcheval.study.checks import check_custom_images
from matcheval.study.requests import Requests
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

    def __init__(self, workflow: Any, study: Study, wanted: Requests) -> None:
        self._workflow, self._study, self._wanted = workflow, study, wanted

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
        # The executor is not known yet; groups are for clusters, of which SLURM's have `sinfo`.
        if self._workflow.group_settings.overwrite_groups and shutil.which("sinfo"):
            try:
                self._cut_groups()
            except InputError as error:  # a dry run may be elsewhere; `on_start` refuses others
                logger.info(f"Groups are not cut by the time limits of a cluster: {error}")

    def on_start(self) -> None:
        """Run the checks that are possible once jobs are about to start."""
        groups = self._workflow.group_settings
        with with_message_only():
            checks.check_names(groups.overwrite_groups, self._rule_names, "rule", "groups")
            used = groups.overwrite_groups.values()
            checks.check_groups(groups.group_components, used, "group-components")
            check_custom_images(self._study)
            checks.check_executor(self._workflow.executor_plugin.name)
            if self._workflow.executor_plugin.name == checks.EXECUTOR:
                self._check_cluster()
            record_shared_names(self._study)

    @property
    def _rule_names(self) -> list[str]:
        return [*(rule.name for rule in self._workflow.rules), *_RULES_OF_SOME_STUDIES]

    def _check_profile(self) -> None:
        """Check names of rules and resources in the profile and on the command line."""
        settings = self._workflow.resource_settings
        checks.check_names(settings.overwrite_resources, self._rule_names, "rule", "set-resources")
        checks.check_names(settings.overwrite_threads, self._rule_names, "rule", "set-threads")
        checks.check_resources(settings.default_resources or {}, "default-resources")
        for given in settings.overwrite_resources.values():
            checks.check_resources(given, "set-resources")

    def _cut_groups(self) -> None:
        """Reduce the size of job groups until each fits into its partition's time limit."""
        groups, longest = self._workflow.group_settings, self._wanted.longest_grouped()
        sizes = groups.group_components
        cut = checks.sizes_of_groups(sizes, groups.overwrite_groups, longest, slurm.nodes())
        for name, size in cut.items():
            if size < sizes[name]:
                logger.info(f"Jobs of group '{name}': {size} at a time, for the time limit.")
        groups.group_components = cut

    def _check_cluster(self) -> None:
        """Check that SLURM can run the jobs as they are going to be submitted."""
        from snakemake_executor_plugin_matcheval_slurm.jobs import comment_of, request_of

        workflow, settings = self._workflow, self._workflow.executor_settings
        # Snakemake's `get_jobs_or_groups` fails if a job of a group needs no run.
        group_of = workflow.dag._group
        needed = (group_of.get(job, job) for job in workflow.dag.needrun_jobs())
        jobs = [job for job in dict.fromkeys(needed) if not job.is_local]
        wanted = [
            replace(checks.startable(request, slurm.nodes()), qos=request.qos or settings.qos)
            for request in map(request_of, jobs)
        ]
        checks.check_requests(wanted, slurm.nodes())
        checks.check_accounts(wanted)
        checks.check_submit_limit(wanted, workflow.resource_settings.nodes)
        checks.check_with_scheduler(wanted)
        seconds = workflow.remote_execution_settings.seconds_between_status_checks
        checks.check_status_command(settings.status_command, seconds)
        checks.check_no_earlier_jobs(map(comment_of, jobs), Path.cwd())
        checks.check_shared(
            Path(self._study.results),
            [Path(workflow.main_snakefile).resolve(), Path(sys.executable)],
            {request.partition: checks.place_options(request) for request in wanted},
            Path(".snakemake") / "seen-by-nodes.json",
        )
