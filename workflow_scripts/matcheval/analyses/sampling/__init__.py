"""Build a replication test set: from a pool of annotated candidates to a set with its provenance.

Recht et al. (2019), arXiv 1902.10811, section 4, appendices B.1 and C.1.
"""

# Raise this by hand when an edit changes which images a sampled set contains. Sampled sets are
# built by a `shell:` rule, which does not notice changes of the library, and rebuilding one means
# running all models on it again.
SAMPLING_VERSION = 1
