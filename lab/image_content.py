# SPDX-License-Identifier: Apache-2.0
"""The bytes of an image: the same for a schematic and version in every lab."""

from __future__ import annotations

import lzma
import random

_BLOCK, _PIECE = 64 * 1024, 64 * 1024**2


def raw_image(schematic: str, version: str) -> bytes:
    """The raw disk of a schematic and version: 2 to 4 MiB, a third of its blocks random, the rest zero."""
    dice = random.Random(f"{schematic}/{version}")
    zero = bytes(_BLOCK)
    return b"".join(dice.randbytes(_BLOCK) if dice.random() < 0.3 else zero for _ in range(dice.randint(32, 64)))


def packed_image(schematic: str, version: str) -> bytes:
    """The same as the factory's .raw.xz; a fast preset, since nobody looks at the ratio."""
    return lzma.compress(raw_image(schematic, version), check=lzma.CHECK_CRC64, preset=0)


def packed_zeros(size: int) -> bytes:
    """A .raw.xz whose raw disk has ``size`` zero bytes: streams of 64 MiB one after another, which costs no time to make."""
    whole, rest = divmod(size, _PIECE)
    piece = lzma.compress(bytes(_PIECE), check=lzma.CHECK_CRC64, preset=0) if whole else b""
    return piece * whole + (lzma.compress(bytes(rest), check=lzma.CHECK_CRC64, preset=0) if rest else b"")
