"""Class-balanced accuracy: would accuracies differ if all classes were equally frequent?"""
