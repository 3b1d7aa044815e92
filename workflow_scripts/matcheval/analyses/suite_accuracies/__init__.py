"""Accuracies of all models on all sets of a suite."""
