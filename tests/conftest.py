"""The order of the tests, and which of them share a process (`pytest --dist loadgroup`)."""

import pytest

# Files of tests that share a long run, the longest first. The tests of the other files of
# tests/workflow are given to the processes one by one, those of tests/unit by file.
TOGETHER = (
    "workflow/test_digits.py", "workflow/test_pretrained.py", "workflow/test_cifar10_check.py",
    "workflow/test_published_results.py", "workflow/test_sampling_rules.py",
    "workflow/test_analysis_rules.py", "workflow/test_retraining_rules.py",
    "workflow/test_downloaded_datasets.py", "workflow/test_new_analysis.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real runs of Snakemake first, so that processes end together with short tests."""
    for item in items:
        folder, file = item.path.parts[-2:]
        if folder != "workflow" or f"workflow/{file}" in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(file))
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    folder, file = item.path.parts[-2:]
    if folder != "workflow":
        return len(TOGETHER) + 1
    name = f"workflow/{file}"
    return TOGETHER.index(name) if name in TOGETHER else len(TOGETHER)
