"""Predictions: reading and checking the workflow's and the user's files, and counting hits.

Prediction files with probabilities are in `records` and `files`, top-k classes in `top_k`;
published results without probabilities are in `label_files` and `accuracy_files`.
"""
