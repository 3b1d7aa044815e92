"""What all figures share: style, saving to files, and contact sheets of images.

A plot function takes a table or typed data and returns a matplotlib `Figure`. It does not use
pyplot and leaves matplotlib's global state unchanged. Matplotlib is imported when a figure is
created, so that importing the modules is fast.
"""
