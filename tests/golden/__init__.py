"""What golden fingerprints are taken of; `tests/fingerprints.py` has them all."""
