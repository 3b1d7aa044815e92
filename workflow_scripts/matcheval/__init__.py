"""How a classifier really behaves on similar-but-non-identical test sets.

The library behind the workflow: pure functions over files and arrays that know nothing of
Snakemake. Import what you need from its modules; `matching` is the protocol's heart.
"""

__version__ = "0.1.0"
