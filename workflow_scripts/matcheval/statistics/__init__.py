"""Statistics of accuracies: intervals, tests, ranks, linear fits and their bootstrap.

Pure functions of arrays, independent of files, tables and figures.
"""
