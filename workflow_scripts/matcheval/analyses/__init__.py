"""Analyses: settings, checks, files, tables and figures (`matcheval.registry`)."""
