"""One page over the results of several studies and comparisons."""
