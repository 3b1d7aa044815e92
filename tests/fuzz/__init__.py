"""Seeded random damage to input files: every file is read or refused, and none crashes a reader.

A short run is part of the tests; `in_subprocess("pickles", 10_000, seed=0)` is a long one.
"""
