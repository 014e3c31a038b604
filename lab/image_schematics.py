# SPDX-License-Identifier: Apache-2.0
"""Schematics as a factory reads and stores them: its fields, its canonical YAML, its IDs."""

from __future__ import annotations

from typing import Any

import yaml


def _scalar(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return yaml.safe_dump(value, width=10**6).removesuffix("\n").removesuffix("\n...")


def _lines(value: Any) -> list[str]:
    """Go's YAML writer: four blanks deeper per level, list items below their key, their fields two blanks in."""
    lines: list[str] = []
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, inner in pairs:
        nested = _lines(inner) if isinstance(inner, (dict, list)) and inner else None
        if key is None:
            block = nested or [_scalar(inner)]
            lines += [f"- {block[0]}", *(f"  {line}" for line in block[1:])]
        elif nested is None:
            lines.append(f"{key}: {_scalar(inner)}")
        else:
            lines += [f"{key}:", *(f"    {line}" for line in nested)]
    return lines


# The factory's field order, which is what its IDs are computed over. A dictionary is a nested structure, a list one
# structure per element, None a plain value.
_ORDER: dict[str, Any] = {
    "owner": None,
    "overlay": {"image": None, "name": None, "options": None},
    "customization": {
        "embeddedMachineConfiguration": None,
        "extraKernelArgs": None,
        "meta": [{"key": None, "value": None}],
        "systemExtensions": {"officialExtensions": None},
        "bootloader": None,
        "secureboot": {"enrollKeys": None, "includeWellKnownCertificates": None},
        "diskImage": {"sectorSize": None},
    },
}


def _ordered(value: Any, order: Any) -> Any:
    """Errors: ValueError for a field that the factory does not know."""
    if order is None or value is None:
        return value
    if isinstance(order, list):
        return [_ordered(item, order[0]) for item in value]
    if not isinstance(value, dict) or set(value) - set(order):
        raise ValueError(f"not a schematic: {value!r}")
    pairs = {key: _ordered(value[key], inner) for key, inner in order.items() if key in value}
    return {key: inner for key, inner in pairs.items() if inner not in (None, "", [], {}, False, 0)}


def canonical_schematic(text: str) -> str:
    """The canonical YAML of a schematic given as YAML or JSON; its SHA-256 is the ID. Errors: ValueError."""
    try:
        given = yaml.safe_load(text)
        known = _ordered({} if given is None else given, _ORDER)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    known.setdefault("customization", {})
    ordered = {key: known[key] for key in _ORDER if key in known}
    return "\n".join(_lines(ordered)) + "\n"
