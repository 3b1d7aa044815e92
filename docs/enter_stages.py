"""Enter versions and code of the expensive stages as they are into `matcheval/stages.json`.

    make stages

Whoever edits their code decides first whether results change, and raises the version if they do.
"""

import tempfile
from pathlib import Path

from matcheval.io.provenance import CodeDigests
from matcheval.stages import FILE, record_stages

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        record_stages(CodeDigests(FILE.parents[1], Path(folder) / "digests.json"))
