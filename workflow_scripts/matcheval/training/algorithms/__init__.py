"""Algorithms: what a training step does with the batches of the training sets.

To add an algorithm, write a class of its options with a line in `training.options.ALGORITHMS`, and
a module here with the class that the options name: a subclass of `training.algorithm.Algorithm`.
"""
