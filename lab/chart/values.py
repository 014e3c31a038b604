# SPDX-License-Identifier: Apache-2.0
"""Helm's handling of values: layering over the chart's defaults, then validation against the chart's schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lab import schemas
from lab.chart.refusal import Refused

Values = dict[str, Any]
Check = Callable[[Any, str], Iterator[str]]

# Talos minor to the Kubernetes minors it runs; a minor that is not listed is not judged.
TALOS_WINDOWS = {"v1.13": ("v1.31", "v1.32", "v1.33", "v1.34", "v1.35", "v1.36")}
KUBERNETES_RELEASES = {
    "v1.35": "v1.35.6",
    "v1.34": "v1.34.9",
    "v1.33": "v1.33.13",
    "v1.32": "v1.32.13",
    "v1.31": "v1.31.14",
}


def defaults_of(schema: schemas.Schema) -> Values:
    """The defaults a schema states, as the values file of its chart states them."""
    return {
        name: defaults_of(child) or child["default"] if child.get("type") == "object" else child["default"]
        for name, child in schema.get("properties", {}).items()
        if "default" in child
    }


DEFAULTS: dict[str, Values] = {kind: defaults_of(schema) for kind, schema in schemas.SCHEMAS.items()}
# The values file leaves kubelet empty: a stated threshold would count as an override (rule reservation-without-size).
DEFAULTS["KubernetesNodes"]["kubelet"] = {}
CATALOG_DEFAULTS: Values = {
    "imageFactoryURL": "https://factory.talos.dev",
    "storageClass": "replicated",
    "storage": "6Gi",
    "images": [{"schematicID": schemas.DEFAULT_SCHEMATIC_ID, "version": schemas.DEFAULT_TALOS_VERSION}],
}


def layered(defaults: Values, values: Values) -> Values:
    """User values over a chart's defaults: maps merge, lists are replaced, a null removes the key.

    A null below the top level survives where the chart has no default for the key; the schema then refuses it.
    """
    merged = _merged(defaults, values)
    return {key: value for key, value in merged.items() if value is not None}


def _merged(defaults: Values, values: Values) -> Values:
    merged = {key: value for key, value in defaults.items() if values.get(key, value) is not None}
    for key, value in values.items():
        base = defaults.get(key)
        if isinstance(value, dict) and isinstance(base, dict):
            merged[key] = _merged(base, value)
        elif value is not None or key not in defaults:
            merged[key] = value
    return merged


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def compiled(schema: schemas.Schema) -> Check:
    """A checker for one schema: yields a sentence per breach. Knows the keywords that the app schemas use."""
    kinds = [schema["type"]] if "type" in schema else [option["type"] for option in schema.get("anyOf", ())]
    # A Go pattern ends where the text ends; Python's "$" would let a final newline through.
    pattern = re.compile(re.sub(r"\$$", r"\\Z", schema["pattern"])) if "pattern" in schema else None
    choices = schema.get("enum")
    nested = _nested(schema)

    def check(value: Any, path: str) -> Iterator[str]:
        if kinds and not any(_TYPES[kind](value) for kind in kinds):
            yield f"{path or '(root)'}: expected {' or '.join(kinds)}, got {_type_name(value)}"
        elif choices and value not in choices:
            yield f"{path}: {value!r} is not one of {', '.join(choices)}"
        elif pattern and isinstance(value, str) and not pattern.search(value):
            yield f"{path}: {value!r} does not have the form {schema['pattern']}"
        else:
            for part in nested:
                yield from part(value, path)

    return check


def _nested(schema: schemas.Schema) -> list[Check]:
    parts: list[Check] = []
    if schema.get("required"):
        parts.append(_required(schema["required"]))
    if schema.get("properties"):
        parts.append(_properties({name: compiled(child) for name, child in schema["properties"].items()}))
    if isinstance(schema.get("additionalProperties"), dict):
        parts.append(_entries(compiled(schema["additionalProperties"])))
    if "items" in schema:
        parts.append(_items(compiled(schema["items"])))
    return parts


def _required(names: list[str]) -> Check:
    return lambda value, path: (f"{path}: {name} is required" for name in names if name not in value)


def _properties(checks: dict[str, Check]) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        for name in value.keys() & checks.keys():
            yield from checks[name](value[name], f"{path}.{name}" if path else name)

    return check


def _entries(each: Check) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        for name, entry in value.items():
            yield from each(entry, f"{path}.{name}")

    return check


def _items(each: Check) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        for index, entry in enumerate(value):
            yield from each(entry, f"{path}.{index}")

    return check


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    return next((kind for kind, test in _TYPES.items() if test(value)), "number")


_CHECKS: dict[str, Check] = {kind: compiled(schema) for kind, schema in schemas.SCHEMAS.items()}
_ZEROES: dict[str, Any] = {"object": {}, "array": [], "string": "", "boolean": False, "integer": 0}
# What a template sees of a field whose default was removed with a null.
_BLANKS: dict[str, Values] = {
    kind: {
        name: _ZEROES[child["type"]]
        for name, child in schema["properties"].items()
        if "default" in child and "type" in child
    }
    for kind, schema in schemas.SCHEMAS.items()
}


def prepared(kind: str, values: Values) -> Values:
    """The values a chart's templates get, for app kind ``kind``. Raises Refused ``values-schema`` with every breach."""
    full = layered(DEFAULTS[kind], values)
    breaches = list(_CHECKS[kind](full, ""))
    if kind != "Tenant" and not full.get("version"):
        breaches.append("version: missing")
    if breaches:
        raise Refused("values-schema", "the values do not fit the chart's schema: " + "; ".join(breaches))
    return {**_BLANKS[kind], **full}
