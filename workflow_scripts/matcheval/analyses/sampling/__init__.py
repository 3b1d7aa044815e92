"""Making a replication test set: annotated candidates in, a new test set with its provenance out.

Recht et al. (2019), arXiv 1902.10811, section 4, appendix B.1 and C.1.
"""

# Raised by hand when an edit changes which images a sampled set has: sets are made by a `shell:`
# rule, which takes no notice of the library, and all predictions on them would be made again.
SAMPLING_VERSION = 1

__all__ = ["SAMPLING_VERSION"]
