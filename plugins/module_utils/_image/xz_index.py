# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unpacked size of an .xz file, read from the indexes at the ends of its streams without unpacking anything.

Source: "The .xz File Format" 1.2.1 (tukaani.org/xz/xz-file-format.txt), sections 2 (streams, padding) and 4 (index).
The file is walked from its end to its start, since only the end of a stream says how long the stream is.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO

_MAGIC, _END = b"\xfd7zXZ\x00", b"YZ"
_HEADER = _FOOTER = 12
# A million blocks. xz writes one block unless it runs in threads, then one per 3 to 192 MiB.
_LARGEST_INDEX = 16 * 1024 * 1024
_SMALLEST_BLOCK = 5


class BrokenXz(ValueError):
    """The file is not a whole .xz; the text says what is wrong with which byte of it."""


def unpacked_size(source: BinaryIO, size: int) -> int:
    """Bytes that the file unpacks to: all blocks of all its streams. ``size`` is the file's. Errors: BrokenXz, OSError.

    A file that ends before its last byte is always noticed, with two exceptions that the format makes: cut exactly between two
    streams, or cut by a multiple of four within padding, what is left is a whole file of its own.
    """
    end, total = size, 0
    while end > 0:
        end = _without_padding(source, end)
        start, unpacked = _stream(source, end)
        total += unpacked
        end = start
    return total


def _at(source: BinaryIO, offset: int, length: int) -> bytes:
    source.seek(offset)
    found = source.read(length)
    if len(found) != length:
        raise BrokenXz(f"it became shorter while it was read, at byte {offset}")
    return found


def _without_padding(source: BinaryIO, end: int) -> int:
    """Where the last stream before ``end`` ends: padding is zero bytes, in fours."""
    stream_end = end
    while stream_end > 0:
        start = max(0, stream_end - 65536)
        piece = _at(source, start, stream_end - start).rstrip(b"\x00")
        stream_end = start + len(piece)
        if piece:
            break
    # A footer ends in YZ, so that no zero byte of the stream itself was taken off.
    if (end - stream_end) % 4:
        raise BrokenXz(f"its end at byte {end} is neither the end of a stream nor padding: it is cut off or damaged")
    return stream_end


def _stream(source: BinaryIO, end: int) -> tuple[int, int]:
    """(offset, unpacked size) of the stream that ends at ``end``."""
    if end < _HEADER + _FOOTER:
        raise BrokenXz(f"only {end} bytes are left for its first stream: it is cut off or damaged")
    footer = _at(source, end - _FOOTER, _FOOTER)
    flags = footer[8:10]
    if footer[10:] != _END:
        raise BrokenXz(f"the end mark of a stream is missing at byte {end}: it is cut off or damaged")
    if _crc(footer[4:10]) != footer[:4]:
        raise BrokenXz(f"the check sum of the stream footer at byte {end - _FOOTER} is wrong")
    index_size = (int.from_bytes(footer[4:8], "little") + 1) * 4
    index_start = end - _FOOTER - index_size
    if index_start < _HEADER:
        raise BrokenXz(
            f"the index before byte {end - _FOOTER} would begin before the file does: it is cut off or damaged"
        )
    if index_size > _LARGEST_INDEX:
        raise BrokenXz(f"its index has {index_size} bytes, at most {_LARGEST_INDEX} are read")
    packed, unpacked = _index(_at(source, index_start, index_size), index_start)
    start = index_start - packed - _HEADER
    if start < 0:
        raise BrokenXz(
            f"its index speaks of {packed} packed bytes, there are {index_start - _HEADER}: it is cut off or damaged"
        )
    header = _at(source, start, _HEADER)
    if header[:6] != _MAGIC or _crc(header[6:8]) != header[8:]:
        raise BrokenXz(f"no stream begins at byte {start}, where the index says so: it is damaged")
    if header[6:8] != flags:
        raise BrokenXz(f"header and footer of the stream at byte {start} disagree: it is damaged")
    return start, unpacked


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def _index(data: bytes, offset: int) -> tuple[int, int]:
    """(bytes that the blocks take in the file, bytes they unpack to) of an index that starts at ``offset``."""
    if data[0] != 0 or _crc(data[:-4]) != data[-4:]:
        raise BrokenXz(f"the index at byte {offset} is damaged")
    # The check sum holds, so what follows is what its writer wrote; a writer can still have written nonsense.
    body = data[1:-4]
    count, position = _number(body, 0, offset)
    packed = unpacked = 0
    for _record in range(count):
        block, position = _number(body, position, offset)
        content, position = _number(body, position, offset)
        if block < _SMALLEST_BLOCK:
            raise BrokenXz(f"the index at byte {offset} has a block of {block} bytes")
        packed += (block + 3) // 4 * 4
        unpacked += content
    if len(body) - position > 3 or any(body[position:]):
        raise BrokenXz(f"the index at byte {offset} has more than its {count} blocks")
    return packed, unpacked


def _number(data: bytes, position: int, offset: int) -> tuple[int, int]:
    """(value, next position): seven bits a byte, lowest first, at most nine bytes."""
    value = 0
    for taken, byte in enumerate(data[position : position + 9]):
        value |= (byte & 0x7F) << (7 * taken)
        if byte < 0x80:
            return value, position + taken + 1
    raise BrokenXz(f"the index at byte {offset} has a number without an end")
