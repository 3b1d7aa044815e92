"""What gaps arise where both sets of a pair are draws from one population."""
