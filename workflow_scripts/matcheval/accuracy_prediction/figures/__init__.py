"""Figures of accuracy prediction: a function per kind of figure, not per figure of a paper."""
