"""Execution of jobs: entry points, environment, resource requests, GPUs and cluster checks."""
