"""The mathematics: numpy in, numpy out."""
