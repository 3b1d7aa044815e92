"""The replication study (Recht, Roelofs, Schmidt & Shankar 2019, arXiv 1902.10811).

Computes intervals, ranks and linear fits from the predictions, labels or accuracies of many models
on an original set and its replication. It needs no probabilities and is independent of the
matching.
"""
