"""Predictions: reading and checking the workflow's and the user's files, and counting hits.

`files` reads a prediction file; `correctness` counts hits, also of published results.
"""
