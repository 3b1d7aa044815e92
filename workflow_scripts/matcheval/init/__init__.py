"""First study files: of two sets of the user's, of an example, or of a paper's models."""
