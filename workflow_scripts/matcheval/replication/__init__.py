"""The replication study (Recht, Roelofs, Schmidt & Shankar 2019, arXiv 1902.10811).

From predictions, labels or accuracies of many models on an original set and its replication to
intervals, ranks and lines. Needs no probabilities, and knows nothing of the matching.
"""
