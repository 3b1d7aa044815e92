"""A first study file, from what a person has: images, prediction files, or published sets."""
