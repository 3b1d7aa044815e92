"""Selection frequency: whether models are more accurate on images that annotators agree on."""
