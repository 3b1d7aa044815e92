"""Plain gaps between two sets that show the same images."""
