"""McNemar's test on the matched pairs of every run."""
