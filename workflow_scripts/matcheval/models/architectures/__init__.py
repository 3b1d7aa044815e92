"""The architectures by family, as functions from a `NetworkConfig` to a module.

The module maps normalised float32 images (n, channels, height, width) to logits (n, n_classes).
torchvision and timm are imported inside the functions that use them: the import takes seconds, and
the small architectures need neither.
"""
