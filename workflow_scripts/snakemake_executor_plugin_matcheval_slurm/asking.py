"""Queries to SLURM about the submitted jobs of a run."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from matcheval.errors import InputError
from matcheval.execution.cluster import slurm
from matcheval.execution.cluster.slurm import parse_states, status_command

# Jobs of a run are looked for from this long before its start, should clocks differ.
_BEFORE_SECONDS = 3600
_JOBS_PER_COMMAND = 500


class JobsInSlurm:
    """The submitted jobs of a run: their states, and how they are cancelled."""

    def __init__(self, name: str, first: str, logger: Any) -> None:
        self._name, self._first, self._logger = name, first, logger
        self._since = time.strftime("%Y-%m-%dT%H:%M", time.localtime(time.time() - _BEFORE_SECONDS))
        self._silent = False

    def states(self, numbers: Collection[str]) -> dict[str, str] | None:
        """Ask for the states of all jobs; None if SLURM does not answer."""
        programs = ["squeue", "sacct"] if slurm.has_accounting() else ["squeue"]
        programs.sort(key=lambda program: program != self._first)
        states: dict[str, str] = {}
        for program in programs:
            text = self._ask(status_command(program, self._name, self._since))
            if text is None:
                return None
            states = parse_states(text) | states
            if all(number in states for number in numbers):
                break
        return states

    def cancel_unknown(self, comments: set[str], known: Collection[str]) -> bool:
        """Cancel jobs that SLURM accepted although it told `sbatch` otherwise, or did not answer.

        Parameters
        ----------
        comments : set of str
            Comments of the jobs that `sbatch` did not submit, as far as it knows.
        known : collection of str
            Numbers of the jobs that are submitted.

        Returns
        -------
        bool
            Whether SLURM answers now.
        """
        command = ["squeue", "--noheader", "--me", f"--name={self._name}", "--format=%i|%k"]
        text = self._ask(command)
        if text is None:
            return False
        found = parse_states(text).items()
        self.cancel([n for n, comment in found if comment in comments and n not in known])
        return True

    def cancel(self, numbers: Sequence[str]) -> None:
        """Cancel jobs."""
        for start in range(0, len(numbers), _JOBS_PER_COMMAND):
            self._ask(["scancel", "--quiet", *numbers[start : start + _JOBS_PER_COMMAND]])

    def _ask(self, command: Sequence[str]) -> str | None:
        """Run a command of SLURM, and return its output; None if SLURM does not answer."""
        try:
            text = slurm.run_slurm(*command)
        except InputError as error:
            if not self._silent:
                self._logger.warning(f"SLURM does not answer; it is asked again. {error}")
            self._silent = True
            return None
        self._silent = False
        return text
