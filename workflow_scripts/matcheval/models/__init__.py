"""Image classifiers: architectures, checkpoints, pretrained models and transforms."""
