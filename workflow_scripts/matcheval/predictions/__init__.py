"""Predictions: reading and checking the workflow's and the user's files, and counting hits.

Files with probabilities are in `records` and `files`, top-k classes in `softmax`; published results
without probabilities are in `published_files`.
"""
