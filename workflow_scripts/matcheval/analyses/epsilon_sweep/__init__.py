"""How the matched gap depends on ε, the largest difference of matched scores."""
