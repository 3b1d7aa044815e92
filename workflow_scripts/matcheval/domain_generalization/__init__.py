"""Domain generalisation: training on some sets (domains), testing on others.

After DomainBed (Gulrajani & Lopez-Paz 2021) and section 5 of Sun et al. (2024). `designs` expands
the settings into trainings, `runs` reads what they and inference have written, `selection` chooses
groups of hyper-parameters, and `results` compares algorithms with ERM over runs. `domainbed` reads
and tabulates sweeps of DomainBed.
"""
