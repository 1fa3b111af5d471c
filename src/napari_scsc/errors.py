"""errors"""

from __future__ import annotations


class FileFormatError(ValueError):
    """The file is not what it should be: damaged, of another kind, or of a later version."""


class RunInterrupted(RuntimeError):
    """A run broke off for a reason outside of it; what was finished is kept, and can be resumed."""
