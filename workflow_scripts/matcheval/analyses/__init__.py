"""Analyses, a folder each: settings, checks, files, tables and figures. See `matcheval.registry`.

The two large ones, the matched protocol and the replication study, have folders of their own beside
this one.
"""
