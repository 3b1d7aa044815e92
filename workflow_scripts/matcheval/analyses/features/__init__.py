"""Datasets of features: what a frozen network computes of the images of other datasets."""

# Raise this by hand when an edit changes the features of a dataset. They are computed by a `shell:`
# rule, which does not notice changes of the library.
FEATURES_VERSION = 1
