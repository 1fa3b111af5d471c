"""The version, in one place: the build writes it, and the package reads it here."""

__all__ = ["__version__"]

try:
    from napari_scsc._version import __version__
except ImportError:  # a clone that is used as it is, without having been installed
    __version__ = "0+unknown"
