"""Near duplicates: the search by pixels, the contact sheet for review, the effect on accuracies.

Recht et al. (2019), arXiv 1902.10811, appendices B.2.2 and C.3: the test images that are most
similar to a training image, by ℓ2 distance and by structural similarity, are reviewed by a person;
then accuracies with and without the near duplicates are compared.
"""
