"""The command line: the same jobs without a window.

Nothing heavy is imported before a command runs: help and completion are to be quick.
"""

from napari_scsc.cli.commands import main

__all__ = ["main"]
