"""The order of the tests, and which of them one process runs (`pytest --dist loadfile`)."""

from typing import Any

import pytest

WORKFLOW = "tests/workflow/"
# Files there whose tests share a long run, the longest first. The tests of the other files there
# are given to the processes one by one; elsewhere, a file is given as a whole.
TOGETHER = (
    "test_digits.py", "test_cifar10_check.py", "test_pretrained.py", "test_published_results.py",
    "test_sampling_rules.py", "test_retraining_rules.py", "test_downloaded_datasets.py",
    "test_suite_rules.py", "test_analysis_rules.py", "test_pair_analyses.py",
    "test_new_analysis.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real runs of Snakemake first, so that processes end together with short tests."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    file = nodeid.partition("::")[0]
    if not file.startswith(WORKFLOW):
        return len(TOGETHER) + 1
    name = file.removeprefix(WORKFLOW)
    return TOGETHER.index(name) if name in TOGETHER else len(TOGETHER)


# Instead of the marks of `--dist loadgroup`, which pytest-xdist 3.8 loses with pytest 9.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Refine `--dist loadfile`."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """Distributes files, and tests that share no run."""

        def _split_scope(self, nodeid: str) -> str:
            apart = _place(nodeid) == len(TOGETHER)
            return nodeid if apart else nodeid.partition("::")[0]

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
