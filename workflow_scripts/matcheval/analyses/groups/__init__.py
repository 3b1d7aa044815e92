"""Accuracy within groups of datapoints that the user defines."""
