"""Hypothesis without time limits for single examples, which a busy machine would exceed."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture
def undrawn(monkeypatch):
    """Write empty figures of a comparison: drawing takes most of its time."""

    def save_blank(figure, *paths):
        for path in map(Path, paths):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')

    monkeypatch.setattr("matcheval.api.comparison.save_figure", save_blank)
    monkeypatch.setattr("matcheval.study.tables.save_figure", save_blank)
