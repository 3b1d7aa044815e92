"""The report of a study: one HTML file that needs no network and nothing beside it.

A page consists of sections. An analysis gives the files that its section shows; a package with a
module `report` and a template `report.html` has a section of its own design.
"""
