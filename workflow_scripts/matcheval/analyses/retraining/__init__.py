"""Experiments: follow-up analyses that train further models, on sets derived from the study's own.

`designs` says which models an experiment trains and tests on what, `results` makes a table of their
predictions, `conclusions` says in words what it shows. What sets can be derived is in
`matcheval.datasets.derivations`; they are built by `datasets.derived`.
"""
