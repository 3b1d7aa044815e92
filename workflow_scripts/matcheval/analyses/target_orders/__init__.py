"""How much the matched gap depends on the order in which targets are matched."""
