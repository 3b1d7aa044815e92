"""Datasets as folders of images and labels, and the kinds of source they are built from.

Cheap to import: what a kind needs (scikit-learn, archives, ...) is imported when it is built, and
what reads and writes folders (`folders`) when it is used.
"""
