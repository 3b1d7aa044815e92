"""Studies: configuration, contents, files, jobs, and what an analysis is to a study."""
