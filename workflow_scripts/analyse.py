"""Run the function of the library that a rule names, with the job's arguments."""

import sys

if __name__ == "__main__":
    sys.path.insert(0, snakemake.scriptdir)
    from matcheval.execution.entry_points import run_job

    run_job(snakemake)
