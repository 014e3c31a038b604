# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the charts print a value: Helm values pass through JSON, so every number is a float64 to a Go template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .reading import MAPPINGS

# strconv takes six digits as the bound when it prints the shortest form.
_EXPONENT_FROM = 6


def printed(value: Any) -> str:
    """A scalar as a Go template prints it: 20 as ``20``, 21474836480 as ``2.147483648e+10``, true as ``true``.

    Null prints as the empty text here, since every template we follow guards it with a default. Collections print as JSON, which no
    template we follow does; it only keeps messages readable.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _float(float(value)) if abs(value) < 10**300 else str(value)
    return json.dumps(value, sort_keys=True, default=str)


@lru_cache(maxsize=1024)
def _float(value: float) -> str:
    """Go's %v of a float64: the shortest digits, in exponent form below 1e-4 and from 1e+06 on."""
    digits, exponent = _shortest(value)
    sign = "-" if value < 0 else ""
    if exponent < -4 or exponent >= _EXPONENT_FROM:
        return sign + _scientific(digits, exponent)
    return sign + _plain(digits, exponent)


def _shortest(value: float) -> tuple[str, int]:
    mantissa, _, exponent = f"{abs(value):.17e}".partition("e")
    for precision in range(17):
        candidate = f"{abs(value):.{precision}e}"
        if float(candidate) == abs(value):
            mantissa, _, exponent = candidate.partition("e")
            break
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def go_quoted(value: Any) -> str:
    """The template function ``quote``: the printed value in double quotes, escaped as Go's %q does. Null gives nothing."""
    return "" if value is None else json.dumps(printed(value), ensure_ascii=False)


def helm_values(defaults: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """The values a chart sees: declared over defaults, with every null at the top level taken away."""
    return {key: value for key, value in helm_merge(defaults, declared).items() if value is not None}


def helm_merge(defaults: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Declared values over defaults as Helm layers them: maps merge, lists are replaced, a null takes the default away.

    A null for a key that has no default stays; below the top level the schema then rejects it.
    """
    merged: dict[str, Any] = {}
    for key, value in defaults.items():
        if key not in declared:
            merged[key] = value
            continue
        own = declared[key]
        if own is None:
            continue
        both = isinstance(own, MAPPINGS) and isinstance(value, MAPPINGS)
        merged[key] = helm_merge(value, own) if both else own
    return merged | {key: own for key, own in declared.items() if key not in defaults}
