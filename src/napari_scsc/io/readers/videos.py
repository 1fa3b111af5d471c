"""Videos."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.io.readers.layer import LayerData, image_layer
from napari_scsc.io.readers.picture_files import is_grey

Array = NDArray[Any]

_LONGEST_VIDEO = 4 << 30  # bytes of its frames


def read_video(path: str | os.PathLike[str]) -> list[LayerData]:
    """A video as an image layer, (t, y, x); in RGB where any frame has colours."""
    import imageio.v3 as iio

    place = Path(path)
    plugin = "pillow" if place.suffix.lower() == ".gif" else _decoder()
    if plugin is None:
        raise ImportError(
            f"{place}: to open videos, install a decoder beside napari (pip install "
            '"imageio[pyav]") and start napari again'
        )
    frames: list[Array] = []
    n_bytes = 0
    with open(place, "rb") as stream:
        # FFMPEG is a program of its own, and must open the file itself.
        source: Any = place if plugin == "FFMPEG" else stream
        try:
            for frame in iio.imiter(source, plugin=plugin):
                frame = np.asarray(frame)
                if frame.ndim == 3:
                    # A copy, so that the colours of a grey frame are not kept with it.
                    frame = frame[..., 0].copy() if is_grey(frame) else frame[..., :3]
                n_bytes += frame.nbytes
                if n_bytes > _LONGEST_VIDEO:
                    break
                frames.append(frame)
        except Exception as error:  # the plugins raise many kinds
            reason = str(error).partition("\n")[0]  # FFMPEG adds pages
            raise ValueError(f"{place}: not a readable video ({reason})") from error
    if n_bytes > _LONGEST_VIDEO:
        raise ValueError(
            f"{place}: longer than {len(frames)} frames, which take {_LONGEST_VIDEO >> 30} GiB: "
            "cut it into shorter pieces"
        )
    if not frames:
        raise ValueError(f"{place}: a video without frames")
    rgb = any(frame.ndim == 3 for frame in frames)
    if rgb:
        frames = [f if f.ndim == 3 else np.repeat(f[..., None], 3, axis=-1) for f in frames]
    if len(frames) == 1:
        return [image_layer(frames[0], place.stem, ("y", "x"), "rgb" if rgb else "image", rgb)]
    return [image_layer(np.stack(frames), place.stem, ("t", "y", "x"), "video", rgb)]


def _decoder() -> str | None:
    """The plugin of imageio that can decode videos here."""
    for module, plugin in (("av", "pyav"), ("imageio_ffmpeg", "FFMPEG")):
        if importlib.util.find_spec(module):
            return plugin
    return None
