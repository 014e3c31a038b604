# SPDX-License-Identifier: Apache-2.0
"""The bytes of an image: the same for a schematic and version in every lab."""

from __future__ import annotations

import lzma
import random
import struct

_BLOCK, _PIECE, _SECTOR = 64 * 1024, 64 * 1024**2, 512


def raw_image(schematic: str, version: str) -> bytes:
    """The raw disk of a schematic and version: 2 to 4 MiB, a third of its blocks random, the rest zero, with the head of a GPT."""
    dice = random.Random(f"{schematic}/{version}")
    zero = bytes(_BLOCK)
    disk = b"".join(dice.randbytes(_BLOCK) if dice.random() < 0.3 else zero for _ in range(dice.randint(32, 64)))
    return partition_table(len(disk)) + disk[2 * _SECTOR :]


def partition_table(size: int) -> bytes:
    """The first two sectors of a disk: a protective MBR, and the header of a GPT that ends with the disk."""
    header = struct.pack("<8sIIIIQQ", b"EFI PART", 0x10000, 92, 0, 0, 1, size // _SECTOR - 1)
    return bytes(510) + b"\x55\xaa" + header.ljust(_SECTOR, b"\0")


def packed_image(schematic: str, version: str) -> bytes:
    """The same as the factory's .raw.xz; a fast preset, since nobody looks at the ratio."""
    return lzma.compress(raw_image(schematic, version), check=lzma.CHECK_CRC64, preset=0)


def packed_zeros(size: int) -> bytes:
    """A .raw.xz whose raw disk has ``size`` zero bytes: streams of 64 MiB one after another, which costs no time to make."""
    whole, rest = divmod(size, _PIECE)
    piece = lzma.compress(bytes(_PIECE), check=lzma.CHECK_CRC64, preset=0) if whole else b""
    return piece * whole + (lzma.compress(bytes(rest), check=lzma.CHECK_CRC64, preset=0) if rest else b"")
