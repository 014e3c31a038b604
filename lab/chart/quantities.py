# SPDX-License-Identifier: Apache-2.0
"""Numbers as the charts see them: Go's printing, and the quantity helpers with their quirks."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import Any

_FACTORS: dict[str, Decimal] = {
    **{prefix + "i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", start=1)},
    **{prefix: Decimal(1000) ** power for power, prefix in enumerate("kMGTPE", start=1)},
    "m": Decimal("1e-3"),
    "u": Decimal("1e-6"),
    "n": Decimal("1e-9"),
}
_SUFFIX = re.compile("(" + "|".join(_FACTORS) + r")\Z")
# Go's ParseFloat; Python's float() would also accept spaces and underscores.
_FLOAT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)|nan", re.IGNORECASE)


def go_float(value: float) -> str:
    """How Go prints a float64 by default: the shortest digits, in exponent form below 1e-4 and from 1e6 on."""
    if not isfinite(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    sign, digits, shift = Decimal(repr(value)).normalize().as_tuple()
    text, exponent = "".join(map(str, digits)), len(digits) + int(shift) - 1
    if -4 <= exponent < 6:
        return format(Decimal(repr(value)).normalize(), "f")
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def go_text(value: Any) -> str:
    """A value as a template prints it. Every number is a float64: values reach a template through JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return go_float(float(value))
    return "" if value is None else str(value)


def to_float(value: Any) -> float:
    """A quantity as ``cozy-lib`` reads it: never an error, an unreadable text is 0 (facts: quantities).

    Differs from Kubernetes on purpose: ``10K`` and ``abc`` are 0, ``1e3Ki`` is 1024000, ``inf`` is infinite.
    """
    if isinstance(value, (int, float)):
        return float(value)
    text = go_text(value)
    match = _SUFFIX.search(text)
    number = parse_float(text[: match.start()] if match else text)
    if not match or not isfinite(number):
        return number
    # The helper multiplies decimals, not binary floats: 100u is 0.0001 and not 9.99e-05.
    return float(Decimal(repr(number)) * _FACTORS[match[1]])


def parse_float(text: str) -> float:
    """A number without suffix; what Go's parser refuses is 0."""
    number = float(text) if _FLOAT.fullmatch(text) else 0.0
    overflow = not isfinite(number) and any(character.isdigit() for character in text)
    return 0.0 if overflow else number


def to_millicores(value: Any) -> float:
    """A CPU quantity in thousandths of a core: ``1500m`` and ``1.5`` are 1500; parts of a thousandth are dropped."""
    text = go_text(value)
    if text.endswith("m"):
        return parse_float(text[:-1])
    return float(int(Decimal(repr(parse_float(text))) * 1000))
