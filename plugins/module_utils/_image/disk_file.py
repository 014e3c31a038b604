# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a local disk image is, seen before a byte of it is sent: format, size, and the size of the disk in it.

CDI takes whatever it is sent: an error page that was saved under the name of an image becomes a golden that no worker boots
from. So the file is judged here. Formats are told by their first bytes, as CDI does, never by the name of the file.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from .xz_index import BrokenXz, unpacked_size

PIECE = 1024 * 1024
EXPECTED = "a disk image as .raw.xz, .raw.gz, .raw.zst, .qcow2 or .raw"
Tell = Callable[[int, int], None]

_SECTOR = 512
# Enough to see a partition table, a tar header and the first line of a text.
_HEAD = 1024
# xz -9 wants 65 MiB to unpack. A file that claims to want more than this was not made for us.
_UNPACK_MEMORY = 256 * 1024 * 1024
_DAMAGE = (lzma.LZMAError, zlib.error, EOFError)
_PACKED = ((b"\xfd7zXZ\x00", "xz"), (b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"QFI\xfb", "qcow2"))
# (offset, bytes, what it is): only so that a refusal can say what somebody took for an image.
_OTHERS = (
    (0, b"PK\x03\x04", "a zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"KDMV", "a VMware disk"),
    (0, b"\x7fELF", "a program"),
    (0, b"070701", "an initramfs"),
    (0, b"MZ", "a kernel or another EFI program"),
)


class WrongFile(ValueError):
    """The file cannot become a golden. The text names the path, what was found and what is expected."""

    def __init__(self, path: str, found: str, remedy: str = "") -> None:
        self.path, self.found = path, found
        super().__init__(f"{path}: {found}; {remedy or f'expected is {EXPECTED}'}")


@dataclass(frozen=True)
class DiskFile:
    """``size`` is the file's, in bytes; ``raw_size`` is that of the disk in it, None when the format does not tell exactly."""

    path: str
    size: int
    format: str  # xz gz zst qcow2 raw
    raw_size: int | None


def inspect(path: str) -> DiskFile:
    """Judge a file by its beginning and its end; a few reads, however large it is. Errors: WrongFile."""
    with _opened(path) as (source, size):
        head = _read(path, source, _HEAD)
        kind = next((name for magic, name in _PACKED if head.startswith(magic)), "raw")
        if kind == "qcow2":
            return DiskFile(path, size, kind, _qcow2_size(path, head))
        if kind == "zst":
            return DiskFile(path, size, kind, None)
        if kind == "raw":
            _check_disk(path, head, size, "")
            return DiskFile(path, size, kind, size)
        raw_size = _xz_size(path, source, size) if kind == "xz" else None
        _check_disk(path, _unpacked_head(path, source, kind), raw_size, f"inside the {kind}: ")
        return DiskFile(path, size, kind, raw_size)


def sha256_of(path: str, tell: Tell | None = None) -> str:
    """The file's sum in hexadecimal; ``tell`` hears bytes done and bytes in all. Errors: WrongFile."""
    digest = hashlib.sha256()
    with _opened(path) as (source, size):
        for piece in _pieces(path, source, size, tell):
            digest.update(piece)
    return digest.hexdigest()


def check_whole(path: str, tell: Tell | None = None) -> str:
    """Unpack all of an xz, gz or raw file in bounded memory; the sum of the disk in it. Errors: WrongFile.

    What ``inspect`` cannot see from both ends is seen here: a flipped bit in the middle breaks a check sum of the format.
    zst and qcow2 cannot be unpacked by Python's own library, and are refused.
    """
    found = inspect(path)
    if found.format == "raw":
        return sha256_of(path, tell)
    if found.format not in ("xz", "gz"):
        raise WrongFile(
            path, f"a {found.format} file cannot be unpacked here", "give xz, gz or raw, or skip this check"
        )
    digest, total = hashlib.sha256(), 0
    with _opened(path) as (source, size):
        try:
            for piece in _unpacked(found.format, _pieces(path, source, size, tell)):
                digest.update(piece)
                total += len(piece)
        except _DAMAGE as error:
            raise WrongFile(
                path, f"damaged: {error} (after {total} bytes of the disk)", "fetch the file again"
            ) from error
    if found.raw_size not in (None, total):
        raise WrongFile(
            path, f"damaged: its index promises {found.raw_size} bytes, it holds {total}", "fetch the file again"
        )
    return digest.hexdigest()


@contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its size. Looked at before it is opened: opening a pipe would wait for somebody to write into it."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise WrongFile(path, "a folder" if os.path.isdir(path) else "not a regular file")
        source = open(path, "rb")  # noqa: SIM115 (closed below; an error of the caller's block is not one of opening)
    except FileNotFoundError as error:
        raise WrongFile(path, "there is no such file on this host") from error
    except OSError as error:
        raise WrongFile(
            path, f"cannot be read: {error.strerror}", "the user that runs the module must be able to read it"
        ) from error
    with source:
        size = os.fstat(source.fileno()).st_size
        if size == 0:
            raise WrongFile(path, "empty")
        yield source, size


def _read(path: str, source: BinaryIO, length: int) -> bytes:
    try:
        return source.read(length)
    except OSError as error:
        raise WrongFile(path, f"cannot be read: {error.strerror}") from error


def _pieces(path: str, source: BinaryIO, size: int, tell: Tell | None) -> Iterator[bytes]:
    done = 0
    while piece := _read(path, source, PIECE):
        yield piece
        done += len(piece)
        if tell:
            tell(done, size)
    if done != size:
        raise WrongFile(
            path, f"changed while it was read: {size} bytes became {done}", "let nobody write to it meanwhile"
        )


def _xz_size(path: str, source: BinaryIO, size: int) -> int:
    try:
        raw_size = unpacked_size(source, size)
    except BrokenXz as error:
        raise WrongFile(path, f"not a whole xz file of {size} bytes: {error}", "fetch the file again") from error
    except OSError as error:
        raise WrongFile(path, f"cannot be read: {error.strerror}") from error
    if raw_size == 0:
        raise WrongFile(path, "an xz file with nothing in it")
    return raw_size


def _qcow2_size(path: str, head: bytes) -> int:
    """The virtual size. Header fields, all big-endian: version at 4, backing file's offset at 8, size at 24."""
    if len(head) < 72:
        raise WrongFile(path, f"a qcow2 file cut off after {len(head)} bytes", "fetch the file again")
    version, backing = struct.unpack_from(">IQ", head, 4)
    (size,) = struct.unpack_from(">Q", head, 24)
    if version not in (2, 3):
        raise WrongFile(path, f"a qcow2 file of version {version}", "versions 2 and 3 are known")
    if backing:
        raise WrongFile(path, "a qcow2 file that needs a backing file", "flatten it with qemu-img convert")
    if size == 0:
        raise WrongFile(path, "a qcow2 file of a disk without a byte")
    return int(size)


def _unpacked_head(path: str, source: BinaryIO, kind: str) -> bytes:
    """The first bytes of the disk in an xz or gz file; no more of it is unpacked."""
    source.seek(0)
    head = b""
    try:
        for piece in _unpacked(kind, iter(lambda: _read(path, source, 65536), b""), _HEAD):
            head += piece
            if len(head) >= _HEAD:
                break
    except _DAMAGE as error:
        raise WrongFile(
            path, f"begins like a {kind} file, but cannot be unpacked: {error}", "fetch the file again"
        ) from error
    return head[:_HEAD]


def _unpacked(kind: str, pieces: Iterable[bytes], at_once: int = PIECE) -> Iterator[bytes]:
    """All streams of an xz file, or members of a gz file, at most ``at_once`` bytes at a time, zeros between them skipped.

    The readers of Python's own library stop silently at what follows the first padding.
    """
    decoder = _decoder(kind)
    for piece in pieces:
        rest, more = piece, True
        while more:
            if decoder.eof:
                rest = rest.lstrip(b"\x00")
                if not rest:
                    break
                decoder = _decoder(kind)
            yield decoder.decompress(rest, at_once)
            if decoder.eof:
                rest = decoder.unused_data
            elif kind == "gz":
                rest = decoder.unconsumed_tail
                more = bool(rest)
            else:
                rest = b""
                more = not decoder.needs_input
    if not decoder.eof:
        raise EOFError("it ends in the middle")


def _decoder(kind: str) -> Any:
    return zlib.decompressobj(31) if kind == "gz" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACK_MEMORY)


def _check_disk(path: str, head: bytes, size: int | None, where: str) -> None:
    """A disk of Talos has a GPT: 55AA at 510, "EFI PART" at 512, and at 544 the sector of the second table, the disk's last.

    ``size`` is the disk's in bytes, None when it is not known.
    """
    if head[510:512] != b"\x55\xaa" or head[512:520] != b"EFI PART":
        raise WrongFile(path, f"{where}{_looks_like(head)}")
    needed = (int.from_bytes(head[544:552], "little") + 1) * _SECTOR
    if size is not None and size < needed:
        found = f"{where}a disk of {size} bytes whose partition table speaks of {needed}: it is cut off"
        raise WrongFile(path, found, "fetch the file again")


def _looks_like(head: bytes) -> str:
    for offset, magic, name in _OTHERS:
        if head.startswith(magic, offset):
            return name
    if not head.strip(b"\x00"):
        return "nothing but zero bytes at its beginning"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"<":
        return f"a web page or XML ({_first_line(text)})"
    if all(byte >= 0x20 or byte in b"\t\r\n" for byte in head):
        return f"a text ({_first_line(text)})"
    return f"no partition table, its first bytes are {head[:8].hex(' ')}"


def _first_line(text: bytes) -> str:
    return repr(text.split(b"\n", 1)[0].decode(errors="replace").strip()[:60])
