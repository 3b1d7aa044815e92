"""Names of models, datasets, pairs and studies, which become parts of file names."""

import re

# `fullmatch` is meant: `match` with a final `$` would let a trailing newline pass.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_LENGTH = 100
