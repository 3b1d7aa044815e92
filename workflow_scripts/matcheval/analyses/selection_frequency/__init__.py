"""Selection frequency: are models more accurate on images whose class annotators agree on?"""
