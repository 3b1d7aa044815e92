"""Gaps within classes: matched gaps, their terms and parts, per predicted and per true class."""
