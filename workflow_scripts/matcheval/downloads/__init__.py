"""Published files: a list of where they are, and a downloader that gives them whole or not at all.

Cheap to import: what talks to the network is imported when it is used.
"""

from matcheval.downloads.sources import SOURCES, PublishedFile, published_file

__all__ = ["SOURCES", "PublishedFile", "published_file"]
