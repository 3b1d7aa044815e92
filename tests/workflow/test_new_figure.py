"""A figure is added by a rule and a script."""

import re

import pytest
from engine import ROOT, custom_study


@pytest.mark.slow
def test_a_figure_is_added_as_the_page_for_contributors_says(tmp_path):
    workflow = custom_study(tmp_path / "tree")
    page = (ROOT / "CONTRIBUTING.md").read_text()
    script, rule = re.findall(r"^```python\n(.+?)^```", page, re.MULTILINE | re.DOTALL)
    (workflow.folder / "workflow_scripts/plot_ranks.py").write_text(script)
    targets = "# Runs and matched pairs; tables"
    workflow.edit("rules/matching.smk", targets, f"{rule}\n\n{targets}")
    files = "files_of(rules.{}, pair=MATCHING.pairs),\n"
    drawn = files.format("plot_matching")
    workflow.edit("rules/matching.smk", drawn, drawn + f"        {files.format('plot_ranks')}")
    workflow.run()
    assert (workflow.results / "mine/figures/both/ranks.png").stat().st_size
    assert "<strong>ranks.</strong>" in (workflow.results / "mine/report.html").read_text()
