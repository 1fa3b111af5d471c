"""The noise of an image: found, described, made even."""
