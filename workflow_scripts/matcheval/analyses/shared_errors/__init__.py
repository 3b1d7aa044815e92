"""Shared errors: do models misclassify the same images?"""
