"""What `import matcheval` offers to scripts and notebooks; the command line shares it.

Functions take arrays, tables in memory or files (`inputs`), call the library's rooms, and return
frozen results. docs/python.md is their guide.
"""
