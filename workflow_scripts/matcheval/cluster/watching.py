"""A correction of the SLURM executor's watch over jobs, for as long as it is needed."""

import snakemake_executor_plugin_slurm as plugin

from matcheval.cluster import asking


def keep_status_command() -> None:
    """Let the executor ask once, not before every look at the queue, how long jobs stay in it.

    When slurmctld does not answer that question, snakemake-executor-plugin-slurm (2.8.0) looks at
    jobs with sacct instead of squeue. Where nothing is accounted sacct fails every time, and the
    executor then forgets the jobs and waits for ever. With the answer at hand it keeps to squeue,
    and asks again until the controller is back. A cluster test restarts slurmctld.
    """
    age = asking.min_job_age()
    plugin.get_min_job_age = lambda: age
