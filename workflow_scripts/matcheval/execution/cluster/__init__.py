"""What can be known of a SLURM cluster before jobs are submitted. Knows nothing of Snakemake."""
