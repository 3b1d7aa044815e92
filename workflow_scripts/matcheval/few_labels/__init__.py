"""Accuracy from few labels: which datapoints to label, and intervals that do not trust the model.

`intervals`, `control`, `strata`, `active`, `differences`, `planning` and `sequences` are pure
functions of arrays; `designs` draws what is labelled, `answers` reads the labels.
"""
