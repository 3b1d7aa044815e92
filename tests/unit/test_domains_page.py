"""The tables in docs/domain-generalization.md are those of the results on file beside it."""

from make_domains_page import BLOCKS, PAGE
from take_over import take_over


def test_the_page_is_made_by_its_script():
    page = PAGE.read_text(encoding="utf-8")
    assert take_over(page, lambda block: BLOCKS[block]()) == page, "make domains-docs"
    assert "| two (2) | ERM | 73.7 |" in page
