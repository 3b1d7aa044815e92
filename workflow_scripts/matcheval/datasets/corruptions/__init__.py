"""Corruptions of images: CIFAR-10-C's and ImageNet-C's nineteen, in five severities.

Source: Hendrycks & Dietterich 2019 (ICLR), and the parameters of their programs. `names` is cheap
to import; `applying.corrupt` corrupts arrays of images; each family of corruptions is a module.
"""
