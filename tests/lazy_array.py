"""An array that tells what was read of it."""

from __future__ import annotations


class Lazy:
    """Has what a lazy array has, remembers what was read, and cannot be converted."""

    def __init__(self, values, chunks=None):
        self.values = values
        self.shape = values.shape
        self.dtype = values.dtype
        self.chunks = chunks
        self.read: list[tuple[slice, ...]] = []

    def __getitem__(self, region):
        self.read.append(region)
        return self.values[region]

    def __array__(self, *args, **kwargs):
        raise AssertionError("converted as a whole")
