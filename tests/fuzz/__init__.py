"""Seeded random damage and random inputs, against the promises of docs/reliability.md.

A short run of each campaign is part of the tests; `python -m fuzz` (in `tests/`) makes a long one.
"""
