"""Studies: configuration, contents, files, jobs, and the base class of analyses."""
