"""What a model gives on a dataset, read from file and cut to the classes that count."""
