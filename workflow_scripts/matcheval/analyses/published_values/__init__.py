"""Published values: the numbers printed in a paper beside the results of a study."""
