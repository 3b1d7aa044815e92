"""How Snakemake looks for jobs to start."""

from typing import Any

from snakemake.settings.types import MaxJobsPerTimespan

_DEFAULT = MaxJobsPerTimespan(100, "1s")


def start_jobs_without_polling(scheduler: Any) -> None:
    """Have the scheduler look at the waiting jobs when a job ends, and not once more every second.

    By default Snakemake starts at most 100 jobs a second. For that, each look at the waiting jobs,
    of which every end of a job causes one, is repeated a second later, and that one again, as long
    as jobs wait: after some hundred jobs, with hundreds waiting, this takes a core. A limit that
    the user has chosen (`--max-jobs-per-timespan`) stays.

    Parameters
    ----------
    scheduler : snakemake.scheduling.job_scheduler.JobScheduler
        The scheduler of a run, before its first job.
    """
    limiter = scheduler.job_rate_limiter
    if limiter and (limiter.max_jobs, limiter.timespan) == (_DEFAULT.max_jobs, _DEFAULT.timespan):
        scheduler.job_rate_limiter = None
