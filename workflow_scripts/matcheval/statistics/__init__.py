"""Statistics of accuracies: intervals, ranks, lines through models and their bootstrap.

Pure functions over arrays; they know nothing of files, tables or figures.
"""
