"""The architectures, one module per family.

Each is a function from a `NetworkConfig` to a module that maps normalised float32 images
(n, channels, height, width) to logits (n, n_classes). torchvision and timm are imported inside the
functions that use them: the import takes seconds, and the small architectures need neither.
"""
