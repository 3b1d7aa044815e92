"""What a run began with is edited while it goes on: its jobs refuse, in real Snakemake runs."""

import pytest
from engine import custom_study

# Jobs with `run` are a Snakemake of their own, which reads the study again, as on a cluster.
RULES = """

rule edit:
    output:
        touch("edited"),
    shell:
        "echo '{text}' >> {file}"


rule read_again:
    input:
        "edited",
    output:
        touch("read"),
    run:
        pass


rule count:
    input:
        "edited",
    log:
        "count.log",
    params:
        function="check:check",
    script:
        "workflow_scripts/analyse.py"
"""
LIBRARY = "workflow_scripts/matcheval"


@pytest.mark.slow
def test_an_edited_file_ends_the_run(tmp_path):
    workflow = custom_study(tmp_path / "tree")
    plain = (workflow.folder / "Snakefile").read_text()
    for file, text, rule, named in (
        ("small.yaml", "confidence: 0.9", "read_again", "small.yaml"),
        (f"{LIBRARY}/names.py", "X = 1", "count", LIBRARY),
    ):
        edit = RULES.format(text=text, file=file)
        (workflow.folder / "Snakefile").write_text(plain + edit)
        told = workflow.run(rule, fails=True)
        assert f"{named}: was edited since this run began, and results of both states" in told
        assert not (workflow.folder / "read").exists()
        workflow.run("read_again")  # the same command again
        for made in ("edited", "read"):
            (workflow.folder / made).unlink()
