"""Snakemake's executor for SLURM, for jobs that clusters interrupt: `--executor matcheval-slurm`.

It submits jobs with `snakemake-executor-plugin-slurm`, and watches them itself. Snakemake finds
executors by the prefix of their module's name and imports all of them at every start; therefore
this file imports nothing of the other plugin, which is loaded only when this executor is chosen.
docs/cluster.md lists what is different, and why.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase


def _setting(default: object, text: str, kind: type | None = None) -> Any:
    """Return a setting with its help text, and its type where it may be None."""
    about = {"help": text, "env_var": False, "required": False}
    return field(default=default, metadata=about | ({"type": kind} if kind else {}))


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """Settings of the executor, which are options `--matcheval-slurm-...` and keys of profiles."""

    status_command: str = _setting(
        "squeue",
        "Command that is asked for the states of jobs first: squeue, or sacct. Jobs that it does "
        "not know are looked up with the other, where there is accounting.",
    )
    gres: str | None = _setting(
        None,
        "Name with which GPUs are requested as generic resources, such as gpu or gpu:a100; by "
        "default they are requested with --gpus.",
        str,
    )
    qos: str | None = _setting(None, "Quality of service of all jobs.", str)
    reservation: str | None = _setting(None, "Reservation of all jobs.", str)
    requeue: bool = _setting(
        False,
        "Let SLURM requeue jobs that were preempted or whose node failed; by default this executor "
        "submits them again.",
    )
    signal_seconds: int = _setting(
        300, "Seconds before the end of its time at which a training is told to save and stop."
    )
    submit_hours: float = _setting(
        24.0,
        "Hours for which the submission of a job is repeated while SLURM refuses it for a reason "
        "that passes, such as a limit on submitted jobs.",
    )
    logdir: Path | None = _setting(  # noqa: RUF009 - it returns a field
        None, "Folder of SLURM's logs, by default .snakemake/slurm_logs.", Path
    )
    keep_successful_logs: bool = _setting(False, "Keep the logs of jobs that succeeded as well.")
    delete_logfiles_older_than: int = _setting(
        10, "Days after which SLURM's logs are deleted; 0 to keep them."
    )
    partition_config: Path | None = _setting(  # noqa: RUF009
        None, "YAML file of partitions and their limits, among which every job is given one.", Path
    )


common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
)


class Executor(RemoteExecutor):
    """Makes the executor when a run begins, and thus loads the other plugin no earlier."""

    def __new__(cls, workflow: Any, logger: Any) -> Any:
        """Return the executor of a run."""
        from snakemake_executor_plugin_matcheval_slurm import versions

        versions.check(logger)
        from snakemake_executor_plugin_matcheval_slurm.executor import SlurmExecutor

        return SlurmExecutor(workflow, logger)
