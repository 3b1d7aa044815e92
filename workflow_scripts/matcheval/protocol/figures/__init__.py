"""Figures of the matched evaluation protocol: one module each, and the data they derive."""
