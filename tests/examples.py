"""Running the examples in Python of a page of the documentation.

python tests/examples.py docs/python.md
"""

import doctest
import re
import sys
from pathlib import Path


def run_examples(page: Path) -> tuple[int, str]:
    """Run blocks of code that begin with >>>, one after the other; they may write files.

    Returns their number of statements, and what differs from what the page says.
    """
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    examples = "\n".join(block for block in blocks if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    return len(test.examples), "".join(told)


if __name__ == "__main__":
    number, differences = run_examples(Path(sys.argv[1]))
    sys.stdout.write(differences or f"all {number} statements as on the page\n")
