"""Gaps, matched gaps and their parts along the severity of known shifts."""
