# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ID of a Talos schematic, computed without a factory.

The ID is the SHA-256 of the factory's canonical YAML: fields in the order of its structures, empty ones left out, four spaces of
indentation. The order of a list counts: other order, other ID.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

SCHEMATIC_KEYS = ("owner", "overlay", "customization")
CUSTOMIZATION_KEYS = (
    "embeddedMachineConfiguration",
    "extraKernelArgs",
    "meta",
    "systemExtensions",
    "bootloader",
    "secureboot",
    "diskImage",
)
_NESTED = {
    "overlay": ("image", "name", "options"),
    "systemExtensions": ("officialExtensions",),
    "secureboot": ("enrollKeys", "includeWellKnownCertificates"),
    "diskImage": ("sectorSize",),
}
_META_KEYS = ("key", "value")
# Text that the factory's YAML library surely prints bare. Everything else may get quotes by rules of that library.
_BARE = re.compile(r"[A-Za-z0-9_/.-][A-Za-z0-9_/.=,+@%~:-]*(?: [A-Za-z0-9_/.=,+@%~-][A-Za-z0-9_/.=,+@%~:-]*)*")
_LOOKS_OTHERWISE = re.compile(
    r"[-+.]?[0-9][0-9a-fA-FxXoObB_.,:eE+-]*|[-.]+|-\s.*|.*:|.*:\s.*|\.(?:inf|nan)", re.IGNORECASE
)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"})


class InvalidSchematic(ValueError):
    """Something that is no schematic, or one whose ID cannot be computed without a factory."""


class UncomputableSchematic(InvalidSchematic):
    """A schematic, perhaps, with text that only a factory can lay out."""


def schematic_id(schematic: Mapping[str, Any]) -> str:
    """ID of a schematic, or of the customization alone. Raises InvalidSchematic for unknown keys and for text it cannot lay out."""
    return hashlib.sha256(canonical_schematic(schematic).encode()).hexdigest()


def canonical_schematic(schematic: Mapping[str, Any]) -> str:
    """The canonical YAML of a schematic; the form to send to a factory."""
    if not isinstance(schematic, Mapping):
        raise InvalidSchematic(f"a schematic is a mapping, not {type(schematic).__name__}")
    whole = schematic if set(schematic) <= set(SCHEMATIC_KEYS) else {"customization": schematic}
    lines: list[str] = []
    if whole.get("owner"):
        lines.append(f"owner: {_text(whole['owner'], 'owner')}")
    if whole.get("overlay"):
        lines += ["overlay:", *_indented(_overlay(whole["overlay"]))]
    customization = _checked(whole.get("customization") or {}, CUSTOMIZATION_KEYS, "customization")
    body = list(_customization(customization))
    lines += ["customization:", *_indented(body)] if body else ["customization: {}"]
    return "\n".join(lines) + "\n"


def _customization(values: Mapping[str, Any]) -> Iterator[str]:
    if values.get("embeddedMachineConfiguration"):
        yield f"embeddedMachineConfiguration: {_text(values['embeddedMachineConfiguration'], 'embeddedMachineConfiguration')}"
    yield from _list("extraKernelArgs", values.get("extraKernelArgs"))
    yield from _meta(values.get("meta"))
    extensions = _section(values, "systemExtensions").get("officialExtensions")
    if extensions:
        yield "systemExtensions:"
        yield from _indented(_list("officialExtensions", extensions))
    if values.get("bootloader"):
        yield f"bootloader: {_text(values['bootloader'], 'bootloader')}"
    for name in ("secureboot", "diskImage"):
        lines = [
            f"{key}: {_scalar(value, f'{name}.{key}')}"
            for key in _NESTED[name]
            if (value := _section(values, name).get(key))
        ]
        if lines:
            yield f"{name}:"
            yield from _indented(lines)


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return _checked(values.get(name) or {}, _NESTED[name], name)


def _overlay(value: Any) -> Iterator[str]:
    overlay = _checked(value, _NESTED["overlay"], "overlay")
    for key in ("image", "name"):
        if overlay.get(key):
            yield f"{key}: {_text(overlay[key], f'overlay.{key}')}"
    options = overlay.get("options") or {}
    if not isinstance(options, Mapping):
        raise InvalidSchematic("overlay.options is a mapping")
    if options:
        yield "options:"
        yield from _indented(
            f"{_text(key, 'overlay.options')}: {_scalar(options[key], f'overlay.options.{key}')}"
            for key in sorted(options)
        )


def _meta(value: Any) -> Iterator[str]:
    if not value:
        return
    if not isinstance(value, (list, tuple)):
        raise InvalidSchematic("meta is a list")
    yield "meta:"
    for index, item in enumerate(value):
        entry = _checked(item, _META_KEYS, f"meta[{index}]")
        key = entry.get("key")
        if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key <= 255:
            raise InvalidSchematic(f"meta[{index}].key is a number from 0 to 255")
        yield f"    - key: {key}"
        yield f"      value: {_text(entry.get('value', ''), f'meta[{index}].value')}"


def _list(name: str, value: Any) -> Iterator[str]:
    if not value:
        return
    if not isinstance(value, (list, tuple)):
        raise InvalidSchematic(f"{name} is a list")
    yield f"{name}:"
    yield from (f"    - {_text(item, f'{name}[{index}]')}" for index, item in enumerate(value))


def _indented(lines: Any) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _checked(value: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidSchematic(f"{where} is a mapping")
    for key in value:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1, cutoff=0.5)
            raise InvalidSchematic(f"{where} has no key {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return value


def _scalar(value: Any, where: str) -> str:
    if value is True:
        return "true"
    if isinstance(value, int):
        return str(value)
    return _text(value, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidSchematic(f"{where} is a text, not {type(value).__name__}")
    if not _BARE.fullmatch(value) or _LOOKS_OTHERWISE.fullmatch(value) or value.lower() in _WORDS:
        raise UncomputableSchematic(
            f"{where}: the ID of a schematic with the text {value!r} cannot be computed offline, since the factory's quoting of it "
            "is not certain; register the schematic at the factory and use the ID it answers"
        )
    return value
