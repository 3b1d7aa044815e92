"""Domain generalisation: models trained on some domains, selected there, and tested on others."""
