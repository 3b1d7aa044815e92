"""Have SIGTERM end a run whatever its main thread is doing.

The one place that changes what Snakemake does, until a release of it needs no such thing. Its
handler of SIGTERM, `JobScheduler.exit_gracefully`, takes the scheduler's lock, a plain
`threading.Lock`. A signal interrupts the main thread, which takes the same lock to choose jobs and
to note their ends. If it holds the lock at that moment, the handler waits for the thread that it
interrupts, and the run neither ends nor goes on. In a thread of its own, the handler waits until
the main thread lets go.
"""

import signal
import threading
from typing import Any


def end_at_any_moment(scheduler: Any) -> None:
    """Run the handler of SIGTERM of a run's scheduler in a thread of its own."""

    def end_in_thread(*_: Any) -> None:
        threading.Thread(target=scheduler.exit_gracefully, daemon=True).start()

    if signal.getsignal(signal.SIGTERM) == scheduler.exit_gracefully:
        signal.signal(signal.SIGTERM, end_in_thread)
