"""Figures: each plot function takes a table or typed data and returns a matplotlib `Figure`.

They use no pyplot and leave matplotlib's global state as it was; matplotlib itself is imported
when a figure is made, so that importing these modules costs nothing.
"""
