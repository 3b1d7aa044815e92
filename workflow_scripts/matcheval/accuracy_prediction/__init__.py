"""Accuracy prediction without labels: how accurate a model will be on a set without labels.

Sources, called P1 and P2 here: Guillory et al. 2021 (arXiv 2107.03315, difference of confidences)
and Sun et al. 2024 (ICLR, CIFAR-10-Warehouse).
"""

# Increase by hand when an edit changes the scores of rotation, as `inference.INFERENCE_VERSION`.
ROTATION_VERSION = 1
