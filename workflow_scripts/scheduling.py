"""How Snakemake looks for jobs to start, and how a signal ends it."""

import signal
import threading
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


def end_at_any_moment(scheduler: Any) -> None:
    """Have SIGTERM end a run whatever its main thread is doing.

    Snakemake's handler takes a lock that the interrupted main thread may hold, so that both wait
    forever; from a thread of its own, it waits for a moment.
    """

    def end(*_: Any) -> None:
        threading.Thread(target=scheduler.exit_gracefully, daemon=True).start()

    if signal.getsignal(signal.SIGTERM) == scheduler.exit_gracefully:
        signal.signal(signal.SIGTERM, end)
