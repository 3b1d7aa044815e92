"""A site whose `sbatch` prints a banner before the number of the job."""

from runs import Run

from conftest import banner

# The remedy of docs/cluster.md.
REMEDY = '#!/bin/bash\nset -o pipefail\n{} "$@" | tail -n 1\n'


def test_a_banner_with_numbers_needs_the_remedy(cluster, tmp_path):
    """Upstream issue 374: it is not submitted once more than it is tried."""
    site = banner(tmp_path / "site", "Your quota: 12 of 100 TB")
    run = Run(tmp_path / "run", cluster, site)
    output = run.run("fine", "--retries", "0", code=1)
    assert "Multiple possible SLURM job IDs found" in output
    (tmp_path / "remedy").mkdir()
    remedy = tmp_path / "remedy" / "sbatch"
    remedy.write_text(REMEDY.format(f"{site}/sbatch"))
    remedy.chmod(0o755)
    Run(tmp_path / "run", cluster, str(remedy.parent)).run("fine")
