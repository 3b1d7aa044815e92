"""Seeded random damage to input: everything is read rightly or refused, and nothing crashes.

Short runs are part of the tests. `python -m fuzz.campaign inputs 10000 0`, in the folder `tests`,
is a long one; docs/reliability.md has their results.
"""
