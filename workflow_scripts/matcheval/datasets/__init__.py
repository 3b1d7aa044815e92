"""Datasets as folders of images and labels, and the kinds of source they are built from.

Cheap to import: what a kind needs (scikit-learn, archives, ...) is imported when it is built.
"""

from matcheval.datasets.building import KIND_VERSIONS, KINDS, build_dataset
from matcheval.datasets.folders import Dataset, read_dataset, write_dataset

__all__ = ["KINDS", "KIND_VERSIONS", "Dataset", "build_dataset", "read_dataset", "write_dataset"]
