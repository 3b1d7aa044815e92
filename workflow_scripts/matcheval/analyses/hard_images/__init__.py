"""Hard images: those that the fewest models classify correctly."""
