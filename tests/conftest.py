"""The order of the tests, and which of them one process runs (`pytest --dist loadfile`)."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

WORKFLOW = Path(__file__).parent / "workflow"
# Files there whose tests share a run are given to one process; of those, the longest come first.
# The tests of the other files there are given to the processes one by one; elsewhere, a file is
# given as a whole.
LONGEST = (
    "test_cifar10_check.py", "test_accuracy_rules.py", "test_domain_rules.py",
    "test_suite_rules.py", "test_custom_predictions.py",
)  # fmt: skip


@cache
def _shares_a_run(name: str) -> bool:
    return 'scope="module"' in (WORKFLOW / name).read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real runs of Snakemake first, so that processes end together with short tests."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    folder, _, name = nodeid.partition("::")[0].rpartition("/")
    if folder != "tests/workflow":
        return len(LONGEST) + 2
    if name in LONGEST:
        return LONGEST.index(name)
    return len(LONGEST) + (not _shares_a_run(name))


# Instead of the marks of `--dist loadgroup`, which pytest-xdist 3.8 loses with pytest 9.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Refine `--dist loadfile`."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """Distributes files, and tests that share no run."""

        def _split_scope(self, nodeid: str) -> str:
            apart = _place(nodeid) == len(LONGEST) + 1
            return nodeid if apart else nodeid.partition("::")[0]

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
