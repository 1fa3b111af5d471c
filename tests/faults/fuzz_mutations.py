"""Ways to spoil a file, each drawn from a seed: the same seed spoils it in the same way."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

_EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62)
_WORDS = ("", "..", "../0", "/etc/passwd", "a" * 5000, "\x1b[31m", "\0", "zyx", "pickle", "1e400")
_VALUES: tuple[Any, ...] = (
    *(None, True, [], {}, -1, 0, 1, 2.5, 1e308, -1e-308, 2**31, 2**53, 2**63, 10**30),
    *(*_WORDS, [0], [1, 1], [10**6] * 3, [-1, 5, 5], {"name": "x"}, [[[]]], [{}]),
)
_PLACES = "0123456789"


def mutate(path: Path, rng: random.Random) -> None:
    """Spoil a file, or one or several files of a folder."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    documents = [p for p in files if p.suffix == ".json" or p.name.startswith(".z")]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        # What describes the rest is where most can go wrong.
        chosen = rng.choice(documents if documents and rng.random() < 0.6 else files)
        if path.is_dir() and rng.random() < 0.03:
            chosen.unlink(missing_ok=True)
            continue
        if chosen.exists():
            chosen.write_bytes(mutate_bytes(chosen.read_bytes(), rng))


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Spoil the content of a file: as bytes, or as what it is, so that the rest stays whole."""
    if data[:1] in b"{[" and rng.random() < 0.8:
        return _mutate_json(data, rng)
    if data[:2] == b"PK" and rng.random() < 0.7:
        return _mutate_zip(data, rng)
    if data[:8] == b"\x89PNG\r\n\x1a\n" and rng.random() < 0.6:
        return _mutate_png(data, rng)
    if b"<?xml" in data[:4096] and rng.random() < 0.5:
        return _mutate_digits(data, rng, data.index(b"<?xml"))
    if data[:6] == b"\x93NUMPY" and rng.random() < 0.5:
        return _mutate_digits(data, rng, 10)
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        rng.choice(_BYTE_WAYS)(spoiled, rng)
    return bytes(spoiled)


def _at(data: bytearray, rng: random.Random) -> int:
    """A place, more often near the beginning or the end, where headers are."""
    n = max(len(data), 1)
    where = rng.random()
    if where < 0.45:
        return rng.randrange(min(n, 512))
    return n - 1 - rng.randrange(min(n, 256)) if where < 0.65 else rng.randrange(n)


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[_at(data, rng)] ^= 1 << rng.randrange(8)


def _set_byte(data: bytearray, rng: random.Random) -> None:
    if data:
        data[_at(data, rng)] = rng.choice((0, 0xFF, 0x7F, 0x80, rng.randrange(256)))


def _set_number(data: bytearray, rng: random.Random) -> None:
    size, order = rng.choice((2, 4, 8)), rng.choice("<>")
    value = rng.choice(_EXTREMES) & ((1 << 8 * size) - 1)
    at = _at(data, rng) // 2 * 2
    data[at : at + size] = struct.pack(order + {2: "H", 4: "I", 8: "Q"}[size], value)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[_at(data, rng) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    at = _at(data, rng)
    del data[at : at + rng.choice((1, 2, 4, 64, 1000))]


def _double(data: bytearray, rng: random.Random) -> None:
    at, length = _at(data, rng), rng.choice((1, 4, 12, 64))
    data[at:at] = data[at : at + length]


def _fill(data: bytearray, rng: random.Random) -> None:
    at, length = _at(data, rng), rng.choice((2, 8, 64, 512))
    length = min(length, len(data) - at)
    data[at : at + length] = bytes([rng.choice((0, 0xFF, 0x41))]) * length


def _insert(data: bytearray, rng: random.Random) -> None:
    at = _at(data, rng)
    data[at:at] = rng.randbytes(rng.choice((1, 3, 16, 200)))


def _move(data: bytearray, rng: random.Random) -> None:
    a, b, length = _at(data, rng), _at(data, rng), rng.choice((2, 4, 12))
    data[a : a + length] = data[b : b + length]


_BYTE_WAYS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(_flip, _flip, _flip, _set_byte, _set_byte, _set_number, _set_number, _set_number),
    *(_cut, _remove, _double, _fill, _insert, _move),
)


def _mutate_digits(data: bytes, rng: random.Random, start: int) -> bytes:
    """Change letters and digits of text without changing its length."""
    spoiled = bytearray(data)
    end = min(len(data), start + 4000)
    places = [i for i in range(start, end) if chr(data[i]).isalnum() and data[i] < 128]
    for _ in range(rng.choice((1, 1, 2, 5))):
        if places:
            at = rng.choice(places)
            is_digit = chr(data[at]).isdigit()
            spoiled[at] = ord(rng.choice(_PLACES + "-" if is_digit else "aZ0_ '(,/<\"&"))
    return bytes(spoiled)


def _mutate_json(data: bytes, rng: random.Random) -> bytes:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return data
    for _ in range(rng.choice((1, 1, 2, 3))):
        places: list[tuple[Any, Any]] = []
        _find_places(tree, places)
        if not places:
            break
        holder, key = rng.choice(places)
        _change(holder, key, rng)
    if rng.random() < 0.01:
        return b"[" * 100_000
    return json.dumps(tree).encode()


def _find_places(node: Any, places: list[tuple[Any, Any]]) -> None:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in pairs:
        places.append((node, key))
        if isinstance(value, dict | list):
            _find_places(value, places)


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    way, value = rng.random(), holder[key]
    if way < 0.15:
        del holder[key]
    elif way < 0.25 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    elif way < 0.3 and isinstance(holder, dict):
        holder[rng.choice(_WORDS)] = holder.pop(key)
    elif way < 0.5 and isinstance(value, int) and not isinstance(value, bool):
        holder[key] = rng.choice((value + 1, value - 1, -value, value * 10**6, value * 1000, 0))
    else:
        holder[key] = copy.deepcopy(rng.choice(_VALUES))


def _mutate_zip(data: bytes, rng: random.Random) -> bytes:
    """Spoil a member, and make the archive anew around it."""
    made = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
            members = old.infolist()
            chosen = rng.choice(members)
            for member in members:
                content = old.read(member)
                if member is chosen:
                    content = mutate_bytes(content, rng)
                if member is not chosen or rng.random() > 0.02:
                    new.writestr(member.filename, content, member.compress_type)
    except Exception:  # what was spoiled twice need not be an archive
        return data
    return made.getvalue()


def _mutate_png(data: bytes, rng: random.Random) -> bytes:
    """Spoil a part of a picture, with the checksum that it then has."""
    parts, at = [], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        parts.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    if not parts:  # cut off before
        return data
    chosen = rng.randrange(len(parts))
    made = data[:8]
    for number, (kind, content) in enumerate(parts):
        if number == chosen:
            spoiled = bytearray(content)
            rng.choice(_BYTE_WAYS)(spoiled, rng)
            content = bytes(spoiled)
        crc = zlib.crc32(kind + content)
        made += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)
    return made
