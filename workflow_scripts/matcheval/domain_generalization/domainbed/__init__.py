"""DomainBed: import of its sweeps, its rules of model selection, and its tables."""
