"""Published files: a list of their addresses and checksums, and a downloader that verifies them.

`sources` is cheap to import; `fetching` loads the modules that access the network.
"""
