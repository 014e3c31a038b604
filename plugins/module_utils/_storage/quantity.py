# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities as exact fractions.

The platform's own helper parses with float64 and reads what it cannot parse as 0, which waves a size guard through; here such
text is an error (platform rule 6). On every valid quantity both agree.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

# Signed decimal number, then a binary suffix, a decimal suffix or an exponent: never two of them. [0-9], not \d: the latter
# takes digits of other scripts, which Kubernetes refuses.
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_BINARY = {suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}
# Kubernetes reads the exponent as a 32-bit number and caps what it makes of it; a bound here keeps "1e999999999" from eating memory.
_LARGEST_EXPONENT = 1000


class InvalidQuantity(ValueError):
    """Text that Kubernetes does not take as a quantity; ``value`` is what was given."""

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(f"{value!r} is not a Kubernetes quantity (examples: 20Gi, 512Mi, 1.5T, 21474836480)")


def parse_quantity(value: object) -> Fraction:
    """The exact value of a quantity. Raises InvalidQuantity for what Kubernetes refuses, truth values included."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidQuantity(value)
    if isinstance(value, int):
        return Fraction(value)
    parsed = _parsed(value)
    if parsed is None:
        raise InvalidQuantity(value)
    return parsed


@lru_cache(maxsize=1024)
def _parsed(value: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(value)
    exponent = int(match["exponent"] or 0) if match else 0
    if match is None or abs(exponent) > _LARGEST_EXPONENT:
        return None
    number = match["number"]
    result = Fraction("0" + number if number.startswith(".") else number.removesuffix("."))
    result *= _BINARY.get(match["binary"], 1) * _DECIMAL.get(match["decimal"], Fraction(1)) * _power(exponent)
    signed: Fraction = -result if match["sign"] == "-" else result
    return signed


def to_bytes(value: object) -> int:
    """The quantity in whole bytes, rounded up as Kubernetes does. Raises InvalidQuantity."""
    return math.ceil(parse_quantity(value))


def bytes_of(value: object) -> int | None:
    """As ``to_bytes``; None for what is no quantity."""
    try:
        return to_bytes(value)
    except InvalidQuantity:
        return None


def is_size(value: object) -> bool:
    """Whether Kubernetes takes this for the size of a disk: a quantity above zero."""
    try:
        return parse_quantity(value) > 0
    except InvalidQuantity:
        return False


def same_quantity(left: object, right: object) -> bool:
    """Whether two spellings mean one number; text that is no quantity equals only itself."""
    try:
        return parse_quantity(left) == parse_quantity(right)
    except InvalidQuantity:
        return left == right


def chart_amount(value: object) -> Fraction:
    """A value as the platform's helper reads it: suffix off, the rest as a float, and 0 for what it cannot parse.

    Only for following the chart; it reads ``1e3Ki`` as 1024000, which Kubernetes refuses.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return Fraction(0)
    if not isinstance(value, str):
        return Fraction(value) if math.isfinite(value) else Fraction(0)
    return _chart_amount(value)


@lru_cache(maxsize=1024)
def _chart_amount(value: str) -> Fraction:
    for suffix, factor in (*_BINARY.items(), *_DECIMAL.items()):
        if value.endswith(suffix):
            return Fraction(plain_amount(value.removesuffix(suffix)) * factor)
    return plain_amount(value)


def plain_amount(written: str) -> Fraction:
    """A number without a suffix as Go's float parser reads it; 0 for anything else."""
    match = re.fullmatch(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3}))?", written)
    if match is None:
        return Fraction(0)
    try:
        return parse_quantity(match[1]) * _power(int(match[2] or 0))
    except InvalidQuantity:
        return Fraction(0)


def _power(exponent: int) -> Fraction:
    return Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)
