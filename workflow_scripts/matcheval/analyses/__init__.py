"""Follow-up analyses of a replication: reasons for a change of accuracy.

Recht et al. (2019), arXiv 1902.10811, appendices B.2, C.3 and C.4.7; those that train no models.
"""
