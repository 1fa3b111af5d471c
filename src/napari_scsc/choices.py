"""Names that users choose from. Imports nothing, so that help and manifest need not wait."""

from __future__ import annotations

KINDS = ("image", "rgb", "video", "stack", "multispectral", "light-field", "time-lapse")
"""Kinds of data; ``data/axes.py`` says what the axes of each are."""

MODELS = ("patches", "scsc", "ocsc")
"""What can be learned; ``learning/models.py``."""

DRAWS = ("uniform", "structure")
"""How tiles are drawn to learn from; ``learning/sampler.py``."""

BALLS = ("l2", "l1")
"""In which the weights of the convolutional model lie."""

NOISE_WISHES = ("auto", "white", "correlated")
"""What may be said of noise that is to be estimated; ``noise/find.py``."""

OUTLIER_WISHES = ("auto", "fill", "keep")
"""What is done with hot and dead pixels; ``noise/outliers.py``."""

RESULT_FORMATS = (".tif", ".ome.tif", ".zarr", ".ome.zarr", ".npy")
"""Files that results can be written to; ``io/stores``."""

ZARR_FORMATS = ("0.4", "0.5")
"""Versions of OME-Zarr that results can have; ``io/stores``."""

FAILURE_WISHES = ("go-on", "stop")
"""What a batch does after a file that cannot be restored; ``batch/job.py``."""
