"""Run the function of the library that a rule of an analysis names: see rules/analyses.smk."""

from matcheval.execution.entry_points import run_job

if __name__ == "__main__":
    run_job(snakemake)
