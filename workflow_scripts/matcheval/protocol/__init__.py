"""The matched evaluation protocol: comparisons, matching, runs, tables and summary.

Anzaku, Wang, Van Messem & De Neve (2022), arXiv 2209.01848.
"""
