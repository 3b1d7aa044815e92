"""Accuracy from few labels: which datapoints to label, and intervals that do not trust the model.

`draws` and `estimators` are pure functions of arrays; `accuracy`, `differences` and
`plans` hold the Python functions that the commands run; `analysis` simulates them in a study.
"""
