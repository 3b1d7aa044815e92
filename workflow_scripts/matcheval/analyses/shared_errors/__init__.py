"""Shared errors: whether models misclassify the same images."""
