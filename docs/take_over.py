"""Put results into a page: `take_over.py PAGE RESULTS`.

Between `<!-- begin FILE -->` and `<!-- end -->` goes the text of FILE, a path below RESULTS.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

BLOCK = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def take_over(page: str, read: Callable[[str], str]) -> str:
    """Replace what is in every block by what `read` gives for its file."""
    return BLOCK.sub(lambda block: f"{block[1]}{read(block[2])}{block[3]}", page)


if __name__ == "__main__":
    page, results = map(Path, sys.argv[1:])
    text = take_over(
        page.read_text(encoding="utf-8"), lambda file: (results / file).read_text(encoding="utf-8")
    )
    page.write_text(text, encoding="utf-8")
