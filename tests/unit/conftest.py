"""Hypothesis without time limits for single examples, which a busy machine would exceed."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
