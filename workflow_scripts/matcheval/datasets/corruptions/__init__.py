"""Corruptions of images in five severities: CIFAR-10-C's and ImageNet-C's nineteen, C-bar's ten.

Sources: Hendrycks & Dietterich 2019 (ICLR), Mintun et al. 2021 (NeurIPS), and the parameters of
their programs. This file has their names, and imports nothing; `applying.corrupt` corrupts arrays
of images; each family is a module, and `operations` has what several of them do.
"""

# Raised by hand when an edit changes corrupted images, so that they are made again.
CORRUPTION_VERSION = 1

SEVERITIES = (1, 2, 3, 4, 5)

# The benchmark's fifteen, and the four that its authors kept for validation.
STANDARD = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur",
    "zoom_blur", "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate",
    "jpeg_compression",
)  # fmt: skip
EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")

# In place of `frost` where its photographs are absent.
PROCEDURAL = ("frost_procedural",)

# C-bar's ten (Mintun et al. 2021, NeurIPS), in the order of its program for CIFAR-10.
C_BAR = (
    "blue_noise_sample", "checkerboard_cutout", "inverse_sparkles", "pinch_and_twirl", "ripple",
    "brownish_noise", "circular_motion_blur", "lines", "sparkles",
    "transverse_chromatic_abberation",
)  # fmt: skip

ALL = (*STANDARD, *EXTRA, *C_BAR, *PROCEDURAL)

# The published file that has the photographs of frost (see downloads/sources.yaml).
ARCHIVE = "imagecorruptions-1.1.2-py3-none-any.whl"
