"""The mathematics of one sample: numpy in, numpy out, no threads of its own, no printing."""
