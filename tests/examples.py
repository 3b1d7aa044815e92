"""Running the examples in Python of a page of the documentation.

python tests/examples.py docs/python.md
"""

import doctest
import re
import sys
from pathlib import Path

DECIMAL = re.compile(r"-?\d+\.\d+")


class NearlyAsPrinted(doctest.OutputChecker):
    """Decimal numbers may differ a little: matches depend on the last bits of probabilities.

    On other processors these bits, and so some random picks, are others. That numbers are the
    commands' to the last digit is tested elsewhere.
    """

    def check_output(self, want, got, optionflags):
        """Whether texts agree, and every number is within 0.02 plus 5 % of the printed one."""
        if super().check_output(want, got, optionflags):
            return True
        texts = [" ".join(DECIMAL.sub("#", text).split()) for text in (want, got)]
        pairs = zip(*(map(float, DECIMAL.findall(text)) for text in (want, got)), strict=False)
        return texts[0] == texts[1] and all(abs(a - b) <= 0.02 + 0.05 * abs(a) for a, b in pairs)


def run_examples(page: Path) -> tuple[int, str]:
    """Run blocks of code that begin with >>>, one after the other; they may write files.

    Returns their number of statements, and what differs from what the page says.
    """
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    examples = "\n".join(block for block in blocks if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    told: list[str] = []
    doctest.DocTestRunner(NearlyAsPrinted(), optionflags=doctest.ELLIPSIS).run(
        test, out=told.append
    )
    return len(test.examples), "".join(told)


if __name__ == "__main__":
    number, differences = run_examples(Path(sys.argv[1]))
    sys.stdout.write(differences or f"all {number} statements as on the page\n")
