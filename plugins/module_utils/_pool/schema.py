# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published schema of a pool: which keys, types and shapes the platform accepts.

The cluster publishes it; what we carry is only for work without a cluster, since the list of fields keeps growing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._storage.reading import MAPPINGS, mapping

# As published, its oddity included: the exponent may have a fraction, which no parser takes.
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"

_TEXT: Mapping[str, Any] = {"type": "string"}
_QUANTITY: Mapping[str, Any] = {"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}
_FREE: Mapping[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(**properties: Any) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": items}


_TALOS_KEYS = ("imageFactoryURL", "installerRepository", "registryMirrors", "schematicID", "version")

POOL_SCHEMA: Mapping[str, Any] = {
    "cluster": _TEXT,
    "storageClass": _TEXT,
    "minReplicas": {"type": "integer"},
    "maxReplicas": {"type": "integer"},
    "instanceType": _TEXT,
    "diskSize": _QUANTITY,
    "roles": _list(_TEXT),
    "resources": _object(cpu=_QUANTITY, memory=_QUANTITY),
    "podCpuLimit": _QUANTITY,
    "podCpuRequest": _QUANTITY,
    "gpus": _list({**_object(name=_TEXT), "required": ["name"]}),
    "kubelet": _object(
        systemReservedMemory=_TEXT,
        kubeReservedMemory=_TEXT,
        systemReservedCpu=_TEXT,
        kubeReservedCpu=_TEXT,
        evictionHardMemory=_TEXT,
        evictionSoftMemory=_TEXT,
    ),
    "logSerialConsole": {"type": "boolean"},
    "maxUnhealthy": _TEXT,
    "nodeStartupTimeout": _TEXT,
    "readyUnknownTimeout": _TEXT,
    "readyFalseTimeout": _TEXT,
    "maxNodeProvisionTime": _TEXT,
    "version": {"type": "string", "enum": ["v1.35", "v1.34", "v1.33", "v1.32", "v1.31"]},
    "osImage": _object(
        builtin=_object(schematicID=_TEXT, version=_TEXT),
        factory=_object(schematicID=_TEXT, version=_TEXT, imageFactoryURL=_TEXT),
    ),
    "talos": {
        **_object(**{key: _FREE if key == "registryMirrors" else _TEXT for key in _TALOS_KEYS}),
        "required": list(_TALOS_KEYS),
    },
    "images": _object(kubectl=_TEXT),
    # Newer fields: known by name, their contents left to the platform.
    "labels": _FREE,
    "taints": {"type": "array"},
    "kernelModules": {"type": "array"},
    "substrate": _TEXT,
    "proxmox": _FREE,
}


@dataclass(frozen=True)
class Breach:
    """A value that the schema rejects, or a key that it does not know, with those it knows there (``near``)."""

    path: str
    value: Any
    problem: str
    near: tuple[str, ...] = ()


class Checker:
    """A schema made ready for many values: one pool more costs a few lookups."""

    _REMEMBERED = 512

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.properties = {
            key: Checker(item) for key, item in mapping(schema, "properties").items() if isinstance(item, MAPPINGS)
        }
        items = schema.get("items")
        self.items = Checker(items) if isinstance(items, MAPPINGS) else None
        self.open = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or bool(schema.get("additionalProperties"))
        self._int_or_text = _int_or_text(schema)
        self._accepted: set[tuple[type, Any]] = set()

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Checker:
        """A checker of a whole ``spec`` by the schemas of its keys."""
        return cls({"type": "object", "properties": properties})

    def breaches(self, value: Any, path: str = "") -> Iterator[Breach]:
        """Values that break the schema: type, enum, pattern, required."""
        plain = isinstance(value, (str, int, float))
        if plain and (type(value), value) in self._accepted:
            return
        problem = self._problem(value)
        if problem:
            yield Breach(path, value, problem)
        elif plain:
            if len(self._accepted) < self._REMEMBERED:
                self._accepted.add((type(value), value))
        elif isinstance(value, (list, tuple)):
            yield from self._listed(value, path)
        elif isinstance(value, MAPPINGS):
            yield from self._inside(value, path)

    def unknown_keys(self, value: Mapping[str, Any], path: str = "") -> Iterator[Breach]:
        """Keys that the schema does not know, at any depth; objects that keep unknown fields are not looked into."""
        for key, item in value.items():
            known = self.properties.get(key)
            if known is None:
                where = f"{path}.{key}" if path else str(key)
                yield Breach(where, item, "is not a field of a pool", tuple(self.properties))
            elif item is None or isinstance(item, (str, int, float)):
                continue
            elif isinstance(item, MAPPINGS):
                if known.properties and not known.open:
                    yield from known.unknown_keys(item, f"{path}.{key}" if path else str(key))
            elif (
                isinstance(item, (list, tuple))
                and known.items is not None
                and known.items.properties
                and not known.items.open
            ):
                for index, entry in enumerate(item):
                    if isinstance(entry, MAPPINGS):
                        yield from known.items.unknown_keys(
                            entry, f"{path}.{key}[{index}]" if path else f"{key}[{index}]"
                        )

    def _listed(self, value: Sequence[Any], path: str) -> Iterator[Breach]:
        if self.items is not None:
            for index, item in enumerate(value):
                yield from self.items.breaches(item, f"{path}[{index}]")

    def _inside(self, value: Mapping[str, Any], path: str) -> Iterator[Breach]:
        for name in self.schema.get("required") or ():
            if name not in value:
                yield Breach(f"{path}.{name}" if path else name, None, "is missing")
        for key, item in value.items():
            known = self.properties.get(key)
            if known is not None:
                yield from known.breaches(item, f"{path}.{key}" if path else key)

    def _problem(self, value: Any) -> str:
        """What is wrong with this one value; blank when nothing is."""
        if value is None:
            return "" if self.schema.get("nullable") else "is null"
        kind = self.schema.get("type")
        if self._int_or_text:
            if isinstance(value, bool) or not (isinstance(value, str) or _is_integer(value)):
                return "has to be a whole number or a quantity in quotes"
        elif isinstance(kind, str) and not _is_a(kind, value):
            hint = ", in quotes" if kind == "string" and isinstance(value, (int, float)) else ""
            return f"has to be of type {kind}{hint}"
        pattern = self.schema.get("pattern")
        if isinstance(pattern, str) and isinstance(value, str) and not _matches(pattern, value):
            return "is not a quantity" if pattern == QUANTITY_PATTERN else f"does not match {pattern}"
        allowed = self.schema.get("enum")
        if isinstance(allowed, (list, tuple)) and value not in allowed:
            return f"is none of {', '.join(str(item) for item in allowed)}"
        return ""


def _matches(pattern: str, value: str) -> bool:
    # Go's $ is the very end of a text, Python's lets one newline follow.
    try:
        return re.search(pattern.removesuffix("$") + (r"\Z" if pattern.endswith("$") else ""), value) is not None
    except re.error:
        return True


def _int_or_text(schema: Mapping[str, Any]) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return True
    choices = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(choices, (list, tuple)):
        return False
    return sorted(str(mapping(item).get("type")) for item in choices) == ["integer", "string"]


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _is_a(kind: str, value: Any) -> bool:
    if kind == "integer":
        return _is_integer(value)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    wanted: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "boolean": bool,
        "object": MAPPINGS,
        "array": (list, tuple),
    }
    return kind not in wanted or isinstance(value, wanted[kind])
