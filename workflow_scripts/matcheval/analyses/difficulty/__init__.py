"""The Gaussian model of image difficulty, fitted to the accuracies of all models on a pair."""
