"""Near duplicates: exact nearest neighbours over pixels, SSIM of the candidates, and what they do.

Recht et al. (2019), arXiv 1902.10811, appendix B.2.2 and C.3: the test images most like an image of
the training set, found by two distances, are looked at by a person; accuracies are then compared
with and without them.
"""
