"""Videos."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import FileFormatError, MissingPackageError, UserError
from napari_scsc.io.formats.opened_file import OpenedFile, describe, refuse_key
from napari_scsc.io.formats.pictures import is_grey

_MATROSKA = b"\x1a\x45\xdf\xa3"  # .mkv and .webm
_ATOMS = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"uuid")  # .mp4, .mov
_MAX_VIDEO_BYTES = 4 << 30  # of all frames in memory


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a video, (t, y, x), which is read whole; in RGB where any frame has colours."""
    refuse_key(path, key)
    frames = _read_frames(path)
    rgb = any(frame.ndim == 3 for frame in frames)
    if rgb:
        frames = [f if f.ndim == 3 else np.repeat(f[..., None], 3, axis=-1) for f in frames]
    colours = "c" if rgb else ""
    if len(frames) == 1:
        kind = "rgb" if rgb else "image"
        return describe(path, frames[0], labels="yx" + colours, kind=kind, rgb=rgb)
    return describe(path, np.stack(frames), labels="tyx" + colours, kind="video", rgb=rgb)


def _read_frames(path: Path) -> list[Array]:
    """The frames of a video, each (y, x) if it is grey, else (y, x, 3)."""
    import imageio.v3 as iio

    plugin = "pillow" if path.suffix.lower() == ".gif" else _decoder()
    if plugin is None:
        raise MissingPackageError(
            "this is a video, and the package that decodes it is missing",
            remedy='install one beside napari-scsc (pip install "imageio[pyav]"), and start again',
            path=path,
        )
    frames: list[Array] = []
    n_bytes = 0
    with open(path, "rb") as stream:
        if plugin != "pillow":
            _check_container(path, stream)
        # FFMPEG is a program of its own, and must open the file itself.
        source: Any = path if plugin == "FFMPEG" else stream
        try:
            for frame in iio.imiter(source, plugin=plugin):
                frame = np.asarray(frame)
                if frame.ndim == 3:
                    # A copy, so that the colours of a grey frame are not kept with it.
                    frame = frame[..., 0].copy() if is_grey(frame) else frame[..., :3]
                n_bytes += frame.nbytes
                if n_bytes > _MAX_VIDEO_BYTES:
                    break
                frames.append(frame)
        except Exception as error:  # the plugins raise many kinds
            reason = str(error).partition("\n")[0]  # FFMPEG adds pages
            raise FileFormatError(f"not a readable video ({reason})", path=path) from error
    if n_bytes > _MAX_VIDEO_BYTES:
        raise UserError(
            f"longer than {len(frames)} frames, which take {_MAX_VIDEO_BYTES >> 30} GiB",
            remedy="cut it into shorter pieces",
            path=path,
        )
    if not frames:
        raise UserError("a video without frames", path=path)
    return frames


def _check_container(path: Path, stream: BinaryIO) -> None:
    """Refuse what is no video: decoders also read lists of other files and of addresses."""
    start = stream.read(12)
    stream.seek(0)
    is_video = start[:4] == _MATROSKA or start[4:8] in _ATOMS
    if not is_video and (start[:4], start[8:]) != (b"RIFF", b"AVI "):
        raise FileFormatError("not a readable video (it does not begin as one)", path=path)


def _decoder() -> str | None:
    """The plugin of imageio that can decode videos here."""
    for module, plugin in (("av", "pyav"), ("imageio_ffmpeg", "FFMPEG")):
        if importlib.util.find_spec(module):
            return plugin
    return None
