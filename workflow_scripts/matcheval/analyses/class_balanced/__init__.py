"""Class-balanced accuracy: whether accuracies would differ if all classes were equally frequent."""
