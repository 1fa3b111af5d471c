"""Benchmarks of napari-scsc: ``python -m benchmarks --help``."""
