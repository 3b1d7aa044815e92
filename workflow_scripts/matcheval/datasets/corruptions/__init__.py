"""Corruptions of images in five severities: CIFAR-10-C's and ImageNet-C's nineteen, C-bar's ten.

Sources: Hendrycks & Dietterich 2019 (ICLR), Mintun et al. 2021 (NeurIPS), and the parameters of
their programs. `names` is cheap to import; `applying.corrupt` corrupts arrays of images; each
family of corruptions is a module, and `operations` has what several of them do.
"""
