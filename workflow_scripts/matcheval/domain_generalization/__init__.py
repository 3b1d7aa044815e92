"""Domain generalisation: training on some sets (domains), testing on others.

After DomainBed (Gulrajani & Lopez-Paz 2021) and section 4 of Sun et al. (2024). `expansion` checks
the settings and expands them into the trainings of a `plan`; `results` reads what these and
inference have written, chooses groups of hyper-parameters, and compares algorithms with ERM over
runs.
"""
