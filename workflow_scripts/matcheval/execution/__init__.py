"""How jobs are run: entry points, environment, resources, GPUs, and checks of a cluster."""
