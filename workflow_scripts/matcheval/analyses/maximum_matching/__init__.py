"""How many more pairs a largest possible matching has than the greedy protocol."""
