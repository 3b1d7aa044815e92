"""Human accuracy: accuracies of human participants beside those of the models."""

COLUMNS = ["participant", "set", "index", "answer"]
