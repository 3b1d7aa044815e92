"""Checks of a SLURM cluster before jobs are submitted to it. Independent of Snakemake."""
