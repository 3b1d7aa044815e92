"""Revisions: how accuracies change from one revision of a dataset to the next."""
