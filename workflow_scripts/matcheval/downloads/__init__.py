"""Published files: a list of their addresses and checksums, and a downloader that verifies them.

Cheap to import: the modules that access the network are imported only when they are used.
"""

from matcheval.downloads.sources import SOURCES, PublishedFile, published_file

__all__ = ["SOURCES", "PublishedFile", "published_file"]
