"""Retraining: experiments that train further models, on datasets derived from the study's.

`designs` determines which models an experiment trains and tests on which datasets, `tables`
tabulates their accuracies, and `conclusions` states the findings in words. The kinds of derived
dataset are in `matcheval.datasets.derived`; `matcheval.datasets.derived` builds them.
"""
